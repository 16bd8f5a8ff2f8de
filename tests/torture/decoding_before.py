"""The decoder of another revision beside this one: what the two make of the same texts.

``MICRO_AGENT_BEFORE`` names a revision of git or the folder of a checkout; without it nothing here is used. The other
decoder runs in a process of its own, which is this file as a program, and is asked about many texts at once.
"""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from micro_agent.decoding import Decision, Final, ModelReply, ToolCalls, decode

BEFORE = os.environ.get("MICRO_AGENT_BEFORE")
PROPERTY = "decoded differently"
EFFECTS = frozenset({
    "write_file", "run_python", "update_task", "createEvent", "send-email", "db.query", "set_config",
})  # fmt: skip
"""The tools of the fuzz that are not read-only: a call of one is a harm where none was meant."""
TEXTS = 200
"""So many are asked about at once."""
EXAMPLES = 12
"""So many of each class are written down, the shortest."""
PROSE = 3
"""So many words in a row, outside of the calls and of brackets, are prose."""
SHORT = 3
"""A value of so few characters is left in the text: it may be a part of any word."""
_ROOT = Path(__file__).parents[2]
_FOLDED = re.compile(r"```\w*|~~~\w*|<[^<>\n]{0,2000}>|\[/?[A-Z_]+\]|&\w+;")
_WORDS = re.compile(r"(?<![\w\\<|▁/-])[^\W\d_]{2,}(?: [^\W\d_]{1,})+(?![\w|▁>])")
_THOUGHT = re.compile(r"(?im)^\W*thought\b.*?(?=^\W*action\b)", re.DOTALL)
_LABELS = re.compile(r"(?im)^\W*(?:action|action input|final answer|observation|assistant)\b\s*:?")

Said = dict[str, Any]
"""A decision as JSON: ``calls`` with names and arguments, an ``answer``, or what was ``asked``, by its reason."""


def said(text: str, finish: str | None, tools: Sequence[Any]) -> tuple[Said, Decision | None]:
    """What the decoder that is imported here makes of a text."""
    try:
        found = decode(ModelReply(text=text, finish_reason=finish), tools, coerce=False)
    except Exception as error:  # noqa: BLE001 that of the other one is counted, that of ours is a finding elsewhere
        return {"raised": type(error).__name__}, None
    if isinstance(found, ToolCalls):
        return {"calls": [[call.name, call.args] for call in found.calls]}, found
    return ({"answer": found.answer} if isinstance(found, Final) else {"asked": found.reason}), found


class Before:
    """The decoder of before, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def says(self, line: Any) -> Any:
        """What it answers to a line of JSON: to texts, each with its reason to finish and tools, a list of `Said`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def before_at(before: str, folder: Path, described: Sequence[Mapping[str, Any]]) -> Generator[Before]:
    """The decoder of a revision, which is laid out in ``folder``, or of a checkout.

    Raises:
        ValueError: ``before`` is neither.
    """
    home = (Path(before) if Path(before).is_dir() else _archived(before, folder)).resolve()
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
    )  # fmt: skip
    try:
        decoder = Before(process)
        used = decoder.says(list(described))
        assert Path(used).is_relative_to(home), f"the decoder of before was to come from {home}, not from {used}"
        yield decoder
    finally:
        process.kill()
        process.communicate()


def _archived(revision: str, folder: Path) -> Path:
    """The package as it stands at a revision."""
    made = subprocess.run(["git", "-C", str(_ROOT), "archive", revision, "micro_agent"], capture_output=True)
    if made.returncode:
        told = made.stderr.decode(errors="replace").strip()
        raise ValueError(f"MICRO_AGENT_BEFORE={revision} is neither a folder nor a revision: {told}")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


class Differences:
    """What both decoders made of the texts so far: how often they differ, by class, and examples of each."""

    def __init__(self, before: Before):
        self._before = before
        self._waiting: list[tuple[str, str | None, Sequence[Any]]] = []
        self._examples: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.counted: dict[str, int] = {}
        self.harms: list[str] = []
        """Texts with a call that only the new one makes, of a tool with effects, that the loop would make at once."""

    def see(self, text: str, finish: str | None, tools: Sequence[Any]) -> None:
        """Compare a text, later."""
        self._waiting.append((text, finish, tools))
        if len(self._waiting) >= TEXTS:
            self.settle()

    def settle(self) -> None:
        """Compare what was put off."""
        waiting, self._waiting = self._waiting, []
        olds: list[Said] = self._before.says(
            [(text, finish, [one.name for one in tools]) for text, finish, tools in waiting]
        )
        for (text, finish, tools), old in zip(waiting, olds, strict=True):
            new, found = said(text, finish, tools)
            self._compare(text, old, new, found)

    def _compare(self, text: str, old: Said, new: Said, found: Decision | None) -> None:
        self._count("texts")
        if old == json.loads(json.dumps(new)):
            return
        kind = _kind(old, new, found)
        if isinstance(found, ToolCalls) and self._is_harm(text, old, found):
            kind = "HARM: " + kind
            self.harms.append(text)
        self._count(kind)
        examples = self._examples[kind]
        examples.append((text, f"old: {json.dumps(old)[:1000]}\nnew: {json.dumps(new)[:1000]}"))
        examples.sort(key=lambda one: len(one[0]))
        del examples[EXAMPLES:]

    def _count(self, kind: str) -> None:
        self.counted[kind] = self.counted.get(kind, 0) + 1

    def _is_harm(self, text: str, old: Said, found: ToolCalls) -> bool:
        was = old.get("calls", [])
        made = [call for call in found.calls if [call.name, call.args] not in was and call.name in EFFECTS]
        return any(call.standing != "embedded" for call in made) and is_prose(text, found)

    def write(self, path: Path) -> None:
        """Write the examples down, the most frequent class first."""
        with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
            for kind, count in sorted(self.counted.items(), key=lambda one: -one[1]):
                for text, decided in self._examples[kind]:
                    file.write(f"== {kind} ({count})\n{text[:3000]!r}\n{decided}\n\n")


def _kind(old: Said, new: Said, found: Decision | None) -> str:
    """The class of a difference."""
    if "calls" in old and "calls" in new:
        return _among_calls(old["calls"], new["calls"])
    if isinstance(found, ToolCalls):
        effects = any(call.name in EFFECTS for call in found.calls)
        whose = "an effect" if effects else "no effect"
        return f"only new reads ({found.calls[0].standing}, {whose}), old {next(iter(old))}"
    if "calls" in old:
        return "silent: only old reads, new answer" if "answer" in new else f"only old reads, new {_way(new)}"
    if "answer" in new:
        return "another answer" if "answer" in old else "silent: old asked, new answer"
    return f"old answer, new {_way(new)}" if "answer" in old else "asked for another reason"


def _among_calls(old: list[Any], new: list[Any]) -> str:
    if [name for name, _ in old] == [name for name, _ in new]:
        return "both read: other arguments"
    if all(call in new for call in old):
        return "both read: more calls"
    return "both read: fewer calls" if all(call in old for call in new) else "both read: other calls"


def _way(decided: Said) -> str:
    [(what, value)] = decided.items()
    return what if what == "answer" else f"{what} ({value})"


def is_prose(text: str, found: ToolCalls) -> bool:
    """Whether words stand in a text outside of its calls, of thoughts, markup and brackets.

    It knows nothing of how calls are read: what the calls hold, and every bracket, is taken out of the text.
    """
    from decoding_claims import leaves, unescaped

    from micro_agent.decoding.clearing.thinking import without_thinking

    rest = _THOUGHT.sub("", without_thinking(text))
    held = [leaf for call in found.calls for leaf in (call.name, *leaves(call.args)) if isinstance(leaf, str)]
    for leaf in sorted((leaf for leaf in held if len(leaf.strip()) > SHORT), key=len, reverse=True):
        for spelled in (leaf, json.dumps(leaf)[1:-1], json.dumps(leaf, ensure_ascii=False)[1:-1], leaf.strip()):
            rest = rest.replace(spelled, "\0") if spelled else rest
    rest = _LABELS.sub("\n", _FOLDED.sub("\n", _outside_brackets(unescaped(rest))))
    return any(len(found[0].split()) >= PROSE for found in _WORDS.finditer(rest))


def _outside_brackets(text: str) -> str:
    """The text without what stands in brackets; one that nothing closes reaches to the end."""
    kept, depth = list[str](), 0
    for sign in text:
        depth = max(0, depth + (sign in "{[(") - (sign in "}])"))
        kept.append("\n" if depth or sign in "}])" else sign)
    return "".join(kept)


def table(counted: Iterable[Mapping[str, int]]) -> Iterator[str]:
    """The classes and how often each was met, in all tests together, as lines."""
    sums = Counter[str]()
    for one in counted:
        sums.update(one)
    for kind, count in sums.most_common():
        yield f"{count:10,}  {kind}"


def main() -> None:
    """Be the decoder of before: say where it comes from, then answer a line of texts with a line of decisions."""
    tools = {one["name"]: SimpleNamespace(**one) for one in json.loads(sys.stdin.readline())}
    print(json.dumps(sys.modules[decode.__module__].__file__), flush=True)  # noqa: T201
    for line in sys.stdin:
        asked = json.loads(line)
        answers = [said(text, finish, [tools[name] for name in names])[0] for text, finish, names in asked]
        print(json.dumps(answers), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
