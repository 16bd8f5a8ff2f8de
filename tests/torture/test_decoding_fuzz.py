"""The decoder under mutated replies: no exception, no slow decode, no call that the text does not hold.

Seeds are the labelled outputs of ``tests/decoding/outputs`` and calls rendered in every dialect; an input that reaches
new lines of the decoder joins them. Half of ``TORTURE_MINUTES`` (default 2) is the processor time of both tests. The
inputs follow from the seed of the test; a finding is shrunk, printed, and saved whole under the test's ``tmp_path``.
"""

import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest
from decoding_before import BEFORE, PROPERTY, Differences, before_at, is_prose
from decoding_claims import not_held
from decoding_mutations import calls_meant, described, labelled, mutated, seeds, tools

import micro_agent.decoding
from micro_agent.decoding import ModelReply, RawCall, ToolCall, ToolCalls, decode
from micro_agent.tools import Tool

pytestmark = pytest.mark.torture

SECONDS = float(os.environ.get("TORTURE_MINUTES", "2")) * 60 / 4
LIMIT_S = 0.100  # twice what a quiet machine needs for 100 KB; what grows with the square of the length takes seconds
TRIES = 10  # one within the limit is enough: what else the machine does only ever adds
TRACED = 0.1  # share of the inputs whose lines are looked at
CUT = 0.1  # share of the inputs that are the start of a seed
QUICK = 2000  # characters that never take long
DECODER = str(Path(micro_agent.decoding.__file__).parent)


@dataclass(frozen=True)
class Input:
    """What one decode is given; ``whole`` is the text that ``text`` is the start of, if it was cut."""

    text: str
    finish: str | None
    tools: Sequence[Tool] | None
    whole: str | None = None

    @property
    def replies(self) -> tuple[ModelReply, ModelReply]:
        call = RawCall("set_config", self.text)
        return ModelReply(text=self.text, finish_reason=self.finish), ModelReply(
            calls=(call,), finish_reason=self.finish
        )


def finding(given: Input) -> str | None:
    """What is wrong with decoding this, ``None`` when all is well."""
    try:
        for reply in given.replies:
            decode(reply, given.tools)
        # What the schema makes of a value (a number of a text, a list of one) stands in no text.
        decision = decode(given.replies[0], given.tools, coerce=False)
    except BaseException as error:  # noqa: BLE001 whatever it is, it is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
    if len(given.text) > QUICK and any(
        all(seconds(reply, given.tools) > LIMIT_S for _ in range(TRIES)) for reply in given.replies
    ):
        return "over 100 ms"
    if not isinstance(decision, ToolCalls) or given.tools is None:
        return None
    if given.whole is not None and not closes_a_thought(given.whole):
        meant = decode(ModelReply(text=given.whole), given.tools, coerce=False)
        if isinstance(meant, ToolCalls) and any(call not in meant.calls for call in decision.calls):
            return "another call after a cut"
    return not_held(given.text, decision, given.tools)


def seconds(reply: ModelReply, offered: Sequence[Tool] | None) -> float:
    begun = time.process_time()
    decode(reply, offered)
    return time.process_time() - begun


def closes_a_thought(text: str) -> bool:
    """Whether only what comes later tells that a call was a thought."""
    return bool(re.search(r"</think>|\[/THINK\]|</seed:think>|<channel\|>|<\|end\|>|<\|thought_end\|>", text))


def lines_of(given: Input) -> set[tuple[str, int]]:
    """The lines of the decoder that run."""
    found: set[tuple[str, int]] = set()

    def local(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            found.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def entered(frame: FrameType, _event: str, _: Any) -> Callable[..., Any] | None:
        return local if frame.f_code.co_filename.startswith(DECODER) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        decode(given.replies[0], given.tools)
    finally:
        sys.settrace(before)
    return found


def inputs(random: Random) -> Iterator[Input]:
    """Mutated texts without end; one that reaches new lines is mutated further."""
    corpus, reached, every = seeds(), set[tuple[str, int]](), tools()
    starts = list(corpus)
    while True:
        offered = random.choices((every, random.sample(every, 4), None, ()), (85, 11, 2, 2))[0]
        if random.random() < CUT:
            whole = random.choice(starts)
            yield Input(whole[: random.randint(0, len(whole))], "length", every, whole)
            continue
        given = Input(mutated(random, corpus), random.choice((None, "stop", "length")), offered)
        yield given
        if len(given.text) < 4000 and random.random() < TRACED:
            lines = lines_of(given)
            if lines - reached:
                reached |= lines
                corpus.append(given.text)


def shrunk(given: Input, kind: str, limit_s: float = 30) -> Input:
    """The shortest input found that shows the same."""
    end, size = time.monotonic() + limit_s, max(1, len(given.text) // 2)
    while size and time.monotonic() < end:
        smaller = False
        for start in range(0, len(given.text), size):
            text = given.text[:start] + given.text[start + size :]
            whole = None if given.whole is None else given.whole[:start] + given.whole[start + size :]
            if time.monotonic() < end and finding(candidate := replace(given, text=text, whole=whole)) == kind:
                given, smaller = candidate, True
                break
        size = min(size, len(given.text)) if smaller else size // 2
    return given


def test_a_text_holds_the_calls_that_it_means_and_no_others() -> None:
    for item in labelled():
        calls = [ToolCall(call["name"], call["args"]) for call in calls_meant(item)]
        if calls:
            assert not_held(item["text"], ToolCalls(calls), tools()) is None, item["id"]
    text = '{"name": "get_weather", "arguments": {"city": "Par\\u00eds", "days": 12}}'
    held = {"city": "París", "days": 12}
    assert not_held(text, ToolCalls([ToolCall("get_weather", held)]), tools()) is None
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("now", {}, "a name"), ("get_weather", held | {"city": "Oslo"}, "a str"),
        ("get_weather", {"days": 12}, "arguments"), ("get_weather", held | {"days": 1}, "a int"),
        ("get_weather", held | {"x": 12}, "a key"),
        ("get_weather", held | {"unit": None}, "a NoneType"), ("get_weather", held | {"unit": True}, "a bool"),
    ]  # fmt: skip
    for name, args, what in wrong:
        assert str(not_held(text, ToolCalls([ToolCall(name, args)]), tools())).startswith(what)


STUB = """
from dataclasses import dataclass
@dataclass
class ModelReply: text: str; finish_reason: object
@dataclass
class Final: answer: str
class Decision: pass
class ToolCalls: pass
def decode(reply, tools, coerce): return Final(reply.text)
"""
WRITES = '{"name": "write_file", "arguments": {"path": "a.md", "content": "Then all is well again."}}'


def test_what_two_decoders_do_differently_is_told(tmp_path: Path) -> None:
    (tmp_path / "micro_agent" / "decoding").mkdir(parents=True)
    (tmp_path / "micro_agent" / "__init__.py").touch()
    (tmp_path / "micro_agent" / "decoding" / "__init__.py").write_text(STUB)
    with before_at(str(tmp_path), tmp_path, described()) as before:
        seen = Differences(before)
        for text in ("No call \ud800.", WRITES, f"I write it down: {WRITES}", "<tool_call>{}</tool_call>"):
            seen.see(text, None, tools())
        seen.settle()
    told = {"an effect": "only new reads (alone, an effect), old answer", "asked": "old answer, new asked (malformed)"}
    inside = "only new reads (embedded, an effect), old answer"
    assert seen.counted == {"texts": 4, told["an effect"]: 1, inside: 1, told["asked"]: 1}
    assert not seen.harms
    seen.write(tmp_path / "differences.txt")
    assert inside in (tmp_path / "differences.txt").read_text("utf-8")
    with pytest.raises(ValueError, match="neither a folder nor a revision"), before_at("no-such", tmp_path, []):
        pass


def test_words_around_a_call_are_prose() -> None:
    call = ToolCalls([ToolCall("write_file", {"path": "a.md", "content": "Then all is well again."})])
    around = [
        WRITES, f"<tool_call>\n{WRITES}\n</tool_call>", f"<think>I have to write it.</think>{WRITES}",
        f"**Thought:** I have to write it.\nAction: write_file\nAction Input: {WRITES}", f"```json\n{WRITES}\n```",
        json.dumps(WRITES), WRITES.replace('"write_file"', '"write_file", "thought": "I have to write it."'),
    ]  # fmt: skip
    assert not [text for text in around if is_prose(text, call)]
    assert is_prose(f"I write it down: {WRITES}", call)
    assert is_prose(f"```json\n{WRITES}\n``` I am not sure that you want it.", call)
    assert is_prose(f"<tool_call>\n{WRITES}\n</tool_call>\nThis saves the file.", call)


@pytest.fixture
def differences(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[Differences | None]:
    """What is compared with the decoder of ``MICRO_AGENT_BEFORE``; ``None`` without one."""
    if BEFORE is None:
        yield None
        return
    with before_at(BEFORE, tmp_path / "before", described()) as before:
        seen = Differences(before)
        record_property(PROPERTY, seen.counted)  # it goes with the test's report, as the tally does
        yield seen
        seen.write(tmp_path / "differences.txt")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_mutated_reply_breaks_the_decoder(seed: int, tmp_path: Path, differences: Differences | None) -> None:
    random, begun, count = Random(seed), time.process_time(), 0
    found: dict[str, str] = {}
    for count, given in enumerate(inputs(random)):
        if time.process_time() - begun > SECONDS:
            break
        if differences is not None and given.tools:
            differences.see(given.text, given.finish, given.tools)
        kind = finding(given)
        if kind is not None and kind not in found:
            (tmp_path / f"finding-{len(found)}.txt").write_text(given.text, "utf-8", "surrogatepass")
            small = shrunk(given, kind)
            found[kind] = f"{short(small.text)} finish={small.finish!r} whole={short(small.whole)} input {count}"
    if differences is not None:
        differences.settle()
        found |= {f"harm {at}, only this decoder runs it": short(text) for at, text in enumerate(differences.harms)}
    print(f"\nseed {seed}: {count} inputs, {len(found)} findings")  # noqa: T201
    report = "\n".join(f"{kind}: {what}" for kind, what in found.items())
    assert not found, f"seed {seed}, whole inputs in {tmp_path}:\n{report}"


def short(text: str | None) -> str:
    shown = repr(text)
    return shown if len(shown) < 1500 else f"{shown[:700]} … {shown[-700:]} ({len(text or '')} characters)"
