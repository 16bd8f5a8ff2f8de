"""The question of `micro-agent ask`: words on the command line, what comes through a pipe, or both."""

import os
import stat
import sys

from micro_agent.cli.messages import is_terminal, say

MAX_BYTES = 4 * 1024 * 1024
"""What is read of standard input at most: more than any model's context holds."""
FIRST_WORD_S = 5.0
"""How long a pipe may be silent before a question is asked without it: whoever started us may hold one open."""


def question_of(argument: str | None, option: str | None, *, example: str = 'ask "What is 2*(3+5)?"') -> str:
    """The question to ask. ``-`` stands for standard input, which is then read to its end.

    ``example`` is a command that has a question. With one given, the text of a pipe or file is attached to it. A
    terminal, a device (``/dev/null``) or a socket is not read then.

    Raises:
        ConfigurationError: There is no question, there are two, or there is more text than `MAX_BYTES`.
    """
    from micro_agent.errors import ConfigurationError
    from micro_agent.text.attached import with_attached

    given = [text for text in (argument, option) if text is not None]
    words = [text for text in given if text != "-"]
    if len(words) > 1:
        raise ConfigurationError("there are two questions: give one, as an argument or with --question")
    question = _decoded(words[0].encode("utf-8", "surrogateescape"), "the question") if words else ""
    asked_for = len(given) > len(words) or (not given and not is_terminal(sys.stdin))
    text = _decoded(_read(), "standard input") if asked_for or (question and _brings_text()) else ""
    if not question and (words or not text):
        raise ConfigurationError(f"there is no question; try: micro-agent {example}")
    return with_attached(question, text) if question and text else question or text


def _brings_text() -> bool:
    """Whether standard input is a file, or a pipe that something comes through (or its end) before long."""
    try:
        descriptor = sys.stdin.fileno()
        kind = os.fstat(descriptor).st_mode
    except (AttributeError, OSError):  # closed, or another object in its place
        return False
    if not stat.S_ISFIFO(kind):
        return stat.S_ISREG(kind)
    import select

    if select.select([descriptor], [], [], FIRST_WORD_S)[0]:
        return True
    say(f"micro-agent: nothing came through the pipe in {FIRST_WORD_S:g} seconds; asking without it (- waits for it)")
    return False


def _read() -> bytes:
    from micro_agent.errors import ConfigurationError

    read = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin is not None else b""
    if len(read) > MAX_BYTES:
        told = f"standard input has more than {MAX_BYTES // 1024 // 1024} MiB, which no model takes"
        raise ConfigurationError(f"{told}; pipe a part of it, for example: head -c 100000 FILE | micro-agent ask …")
    return read


def _decoded(raw: bytes, what: str) -> str:
    try:
        return raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        say(f"micro-agent: {what} is not all UTF-8; what could not be read is asked as \ufffd")
        return raw.decode("utf-8-sig", "replace").strip()
