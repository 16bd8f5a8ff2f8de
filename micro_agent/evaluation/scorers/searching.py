"""``re.search`` that ends: some expressions take exponential time on some answers, and no thread can be interrupted.

Where the text and the form of the expression bound the time, the search is made at once. Else it runs in a process of
its own that is started once. A timer of the kernel (setitimer(2), ITIMER_PROF) kills it
when one search has used too much processor time; a busy machine does not make that happen sooner.
"""

import atexit
import json
import math
import os
import re
import sys
from contextlib import nullcontext, suppress
from signal import SIGPROF
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock

from micro_agent.errors import MicroAgentError

LIMIT_S = 1.0
"""Seconds of processor time that one search may take, unless it is said otherwise."""
_PROGRAM = """
import json, re, signal, sys
for line in sys.stdin:
    pattern, text, limit = json.loads(line)
    signal.setitimer(signal.ITIMER_PROF, limit)
    found = re.search(pattern, text) is not None
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(int(found), flush=True)
"""

_lock = Lock()
# By the id of the process that started it: after a fork the new process starts one of its own.
_searchers: dict[int, Popen[str]] = {}


# A tenth of a second, about.
_MOST_STEPS = math.log(10_000_000)
# What counts as one character: an escape, a set.
_ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
# A repeated group, a group that is more than a group.
_UNBOUNDED = re.compile(r"\)\s*[*+?{]|\(\?(?!:)")


def search(pattern: str, text: str, *, limit_s: float = LIMIT_S) -> bool | None:
    """Whether a Python regular expression is found in a text; ``None`` if that takes too much time, or all memory.

    Args:
        pattern: One that `re` compiles.
        text: Where it is looked for.
        limit_s: Seconds of processor time.

    Raises:
        MicroAgentError: The process cannot be started.
    """
    if _steps(pattern, text) <= _MOST_STEPS:
        return re.search(pattern, text) is not None
    question = json.dumps([pattern, text, limit_s]) + "\n"
    with _lock:
        reply, code = _asked(question)
        if not reply and code != -SIGPROF:
            reply, _ = _asked(question)  # somebody else may have killed it
    return reply == "1\n" if reply else None


def _steps(pattern: str, text: str) -> float:
    """The logarithm of a bound on what a search tries, on the safe side; infinite where no bound is as simple.

    Repeated single characters end anywhere in the text, independently of each other and of where the match begins, and
    each alternative doubles the ways.
    """
    items = _ITEM.sub("x", pattern.removeprefix("(?i)"))
    if _UNBOUNDED.search(items):
        return math.inf
    repeats = len(re.findall(r"[*+?{]", items.replace("(?:", "(")))
    return (repeats + 1) * math.log(len(text) + 1) + items.count("|") * math.log(2)


def _asked(question: str) -> tuple[str, int | None]:
    """The reply; without one the code that the process ended with."""
    searcher = _searcher()
    try:
        with suppress(BrokenPipeError):
            _write(searcher, question)
            if reply := _read(searcher):
                return reply, None
    except BaseException:
        # Interrupted: the reply that is still to come must not be taken for that to the next question.
        searcher.kill()
        _end()
        raise
    return "", _end()


def _searcher() -> Popen[str]:
    searcher = _searchers.get(os.getpid())
    if searcher is None:
        # Isolated and without site-packages: it starts in 20 ms and reads no setting.
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
        try:
            searcher = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True, encoding="ascii")
        except OSError as error:
            what = f"cannot start {sys.executable} to search an answer: {error.strerror or error}"
            raise MicroAgentError(f"{what}; end some processes, or leave expect_regex out") from error
        _searchers[os.getpid()] = searcher
    return searcher


def _write(searcher: Popen[str], question: str) -> None:
    assert searcher.stdin
    searcher.stdin.write(question)
    searcher.stdin.flush()


def _read(searcher: Popen[str]) -> str:
    assert searcher.stdout
    return searcher.stdout.readline()


@atexit.register
def _end() -> int | None:
    """Let the process end, if there is one, and wait for it; returns its code."""
    searcher = _searchers.pop(os.getpid(), None)
    with suppress(BrokenPipeError), searcher or nullcontext():
        pass
    return searcher and searcher.returncode
