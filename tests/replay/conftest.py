"""Runs of every kind, recorded by the agents of today in both modes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.cancel import RunInterrupted
from micro_agent.effects import Approval, Question
from micro_agent.models import Settings, load_settings
from micro_agent.testing import Reply, ScriptedLM, calls, decision, error, final, text
from micro_agent.testing import call as native_call
from micro_agent.tools import ToolError, load_tools
from micro_agent.traces import TraceStore

Mode = Literal["native", "json"]
ARITHMETIC = "What is 6*7?"
PLAIN = "Which letters did you find?"
NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
WORDS = ["NOT_RUN", "APPROVAL_REJECTED", "APPROVAL_REQUIRED", "INTERRUPTED"]
WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def lookup(number: int) -> dict[str, int]:
    return {"found": number * 2}


def page(number: int) -> str:
    return f"Page {number}. " + "All happy families are alike. " * 60


def shout(word: str) -> str:
    if word == "stop":
        raise KeyboardInterrupt
    if word.isupper():
        raise ToolError(word, "It has words of its own.")
    if word == "fail":
        raise ValueError("no such word")
    return word.upper()


def tools() -> list[Any]:
    """The calculator and the clock, a look-up, one that wants confirmation, one that can fail."""
    built_in = load_tools(modules="")
    return [
        *built_in.values(),
        Tool("lookup", "Look a number up.", NUMBER, lookup, read_only=True, timeout_s=None),
        Tool("page", "Read a page.", NUMBER, page, read_only=True, timeout_s=None),
        Tool("send", "Send a word.", WORD, shout, requires_confirmation=True, timeout_s=None),
        Tool("shout", "Shout a word.", WORD, shout, timeout_s=None),
    ]


@dataclass
class Recorder:
    """Makes runs in one mode and gives them as they stand in their traces."""

    mode: Mode
    store: TraceStore

    def call(self, name: str, args: Any, **options: Any) -> Reply:
        """The mode's call."""
        return native_call(name, args, **options) if self.mode == "native" else decision(name, args, **options)

    def answer(self, answer: str = "Done.") -> Reply:
        """The mode's final answer."""
        return text(answer) if self.mode == "native" else final(answer)

    def agent(self, *replies: Any, **options: Any) -> MicroAgent:
        """An agent whose model plays a script."""
        lm = ScriptedLM(list(replies), mode=self.mode)
        return MicroAgent(tools=tools(), lm=lm, traces=self.store, **options)

    def ask(self, question: str, *replies: Any, **options: Any) -> Run:
        """One question, asked to the end or to a pause, as it is on record."""
        try:
            run = self.agent(*replies, **options).ask(question)
        except RunInterrupted as stopped:
            run = stopped.run
        return self.store.load(run.id)

    def resumed(self, question: str, *replies: Any, decision: Approval) -> Run:
        """A run that paused, and went on with this word."""
        agent = self.agent(*replies)
        paused = agent.ask(question)
        assert paused.status == "confirmation_required"
        return self.store.load(agent.resume(paused.id, decision).id)


Kind = Callable[[Recorder], Run]


def several(r: Recorder) -> Reply:
    wanted: list[tuple[str, Any]] = [
        ("lookup", {"number": 1}),
        ("nowhere", {}),
        ("lookup", {"number": "2"}),
        ("lookup", {}),
    ]
    if r.mode == "native":
        return calls(*wanted, text="All at once:")
    return text("".join(f'<tool_call>{{"name": "lookup", "arguments": {{"number": {n}}}}}</tool_call>' for n in (1, 2)))


def pages(r: Recorder, count: int) -> list[Reply]:
    """The model reads so many pages."""
    return [r.call("page", {"number": number}) for number in range(count)]


def short(length: int) -> Settings:
    """The settings for a context of so many tokens."""
    return load_settings().model_copy(update={"context_length": length})


TOO_LONG = "This model's maximum context length is 3600 tokens. However, your messages resulted in 3900 tokens."


INSIDE = 'I could say {"name": "shout", "arguments": {"word": "a"}} now.'


def refuses(question: Question) -> Approval:
    return Approval("reject", "another word")


KINDS: dict[str, Kind] = {
    "answered": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}), r.answer()),
    "amended": lambda r: r.ask(ARITHMETIC, r.call("calculator", {"expression": "6*7"}), r.answer("It is done.")),
    "several calls": lambda r: r.ask(PLAIN, several(r), r.answer()),
    "several, then a limit": lambda r: r.ask(PLAIN, several(r), limits=Limits(max_steps=1)),
    "repaired": lambda r: r.ask(PLAIN, text("Well: {'name': 'lookup', 'arguments': {'number': 3,}}"), r.answer()),
    "a call inside text": lambda r: r.ask(PLAIN, text(INSIDE), text('{"make": true}'), r.answer()),
    "text with a call": lambda r: r.ask(PLAIN, text(INSIDE), text('{"make": false}')),
    "a call inside text, at a limit": lambda r: r.ask(PLAIN, text(INSIDE), limits=Limits(max_tokens=15)),
    "a call inside text, rejected": lambda r: r.ask(PLAIN, text(INSIDE.replace("shout", "send")), r.answer(),
                                                    confirm=refuses),
    "coerced": lambda r: r.ask(PLAIN, r.call("lookup", {"number": "3"}), r.answer()),
    "thinking": lambda r: r.ask(PLAIN, text("<think>Hm.</think>Just an answer.", reasoning="Hm.")),
    "half a character": lambda r: r.ask("\ud83d?", r.call("shout", {"word": "\ud83d"}), r.answer("\ud83d")),
    "malformed": lambda r: r.ask(PLAIN, text('{"name": "lookup", "arguments": {'), r.answer()),
    "malformed thrice": lambda r: r.ask(PLAIN, *[text(f'{{"name": "lookup", "arguments": {{"number": {n}')
                                                 for n in range(6)]),
    "empty": lambda r: r.ask(PLAIN, text(""), r.call("lookup", {"number": 1}), text("", reasoning="Hm."), r.answer()),
    "cut": lambda r: r.ask(PLAIN, text("Once upon", finish_reason="length"), r.answer()),
    "unknown tool": lambda r: r.ask(PLAIN, r.call("look", {"number": 1}), r.answer()),
    "bad arguments": lambda r: r.ask(PLAIN, r.call("lookup", {"number": "x"}), r.call("lookup", {}), r.answer()),
    "an extra argument": lambda r: r.ask(PLAIN, *[r.call("lookup", {"number": 1, "why": "so"})] * 3, r.answer()),
    "violation": lambda r: r.ask(ARITHMETIC, r.answer("42"), r.call("calculator", {"expression": "6*7"}),
                                 r.answer("42")),
    "policy": lambda r: r.ask(ARITHMETIC, *[r.answer(str(n)) for n in range(6)]),
    "repetition": lambda r: r.ask(PLAIN, *[r.call("lookup", {"number": 1})] * 9, limits=Limits(max_steps=9)),
    "turns": lambda r: r.ask(PLAIN, *[r.call("lookup", {"number": n % 2}) for n in range(12)],
                             limits=Limits(max_steps=12)),
    "max_steps": lambda r: r.ask(PLAIN, *[r.call("lookup", {"number": n}) for n in range(6)]),
    "max_tokens": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}), limits=Limits(max_tokens=10)),
    "max_cost": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}), limits=Limits(max_cost=0.1)),
    "max_time": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}), limits=Limits(max_time=1e-6)),
    "no time": lambda r: r.ask(PLAIN, r.answer().with_(delay_s=0.05), limits=Limits(max_time=0.01)),
    "tool fails": lambda r: r.ask(PLAIN, r.call("shout", {"word": "fail"}), r.answer()),
    "a tool's own words": lambda r: r.ask(PLAIN, *[r.call("shout", {"word": word}) for word in WORDS], r.answer()),
    "words behind a confirmation": lambda r: r.ask(PLAIN, *[r.call("send", {"word": word}) for word in WORDS],
                                                   r.answer(), confirm="all"),
    "cancelled": lambda r: r.ask(PLAIN, r.call("shout", {"word": "stop"})),
    "cancelled at the limit": lambda r: r.ask(PLAIN, r.call("shout", {"word": "stop"}), limits=Limits(max_steps=1)),
    "cancelled of several": lambda r: r.ask(PLAIN, calls(("shout", {"word": "stop"}), ("lookup", {"number": 1}))),
    "no server": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}), error(401, "who are you?")),
    "overflow": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}),
                                error(400, "too long", code="context_length_exceeded")),
    "trimmed": lambda r: r.ask(PLAIN, *pages(r, 14), r.answer(), settings=short(4000), limits=Limits(max_steps=20)),
    "trimmed in the middle": lambda r: r.ask(PLAIN, *pages(r, 4), error(400, TOO_LONG), *pages(r, 4), r.answer(),
                                             limits=Limits(max_steps=20)),
    "too long": lambda r: r.ask("Why? " * 2000, r.answer(), settings=short(2600)),
    "thrown away": lambda r: r.ask(PLAIN, error(400, "tool use failed", body={"error": {
        "message": "tool use failed", "code": "tool_use_failed",
        "failed_generation": '<tool_call>{"name": "lookup", "arguments": {"number": 4}}</tool_call>'}}), r.answer()),
    "approved": lambda r: r.ask(PLAIN, r.call("send", {"word": "a"}), r.answer(), confirm="all"),
    "nobody there": lambda r: r.ask(PLAIN, r.call("send", {"word": "a"}), r.answer(), confirm="never"),
    "rejected": lambda r: r.ask(PLAIN, r.call("send", {"word": "a"}), r.answer(), confirm=refuses),
    "paused": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}), r.call("send", {"word": "a"})),
    "paused, approved": lambda r: r.resumed(PLAIN, r.call("lookup", {"number": 1}), r.call("send", {"word": "a"}),
                                            r.answer(), decision=Approval("approve")),
    "paused, rejected": lambda r: r.resumed(PLAIN, r.call("send", {"word": "a"}), r.answer(),
                                            decision=Approval("reject", "no")),
    "no tools taken": lambda r: r.ask(PLAIN, error(400, "it does not support tools"), decision("lookup", {"number": 1}),
                                      final("Done.")),
    "no tools any more": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}),
                                         error(400, "it does not support tools"),
                                         decision("lookup", {"number": 2}), final("Done.")),
    "no schema taken": lambda r: r.ask(PLAIN, r.call("lookup", {"number": 1}),
                                       error(400, "response_format is not supported"), r.call("lookup", {"number": 2}),
                                       r.answer()),
}  # fmt: skip


def _kinds() -> Iterator[Any]:
    for name, kind in KINDS.items():
        for mode in ("native", "json"):
            yield pytest.param((mode, kind), id=f"{name}, {mode}")


@pytest.fixture(params=_kinds())
def recorded_run(request: pytest.FixtureRequest, store: TraceStore) -> Run:
    """A run of each kind, as it is on record."""
    mode, kind = request.param
    return kind(Recorder(mode, store))


@pytest.fixture(params=["native", "json"])
def recorder(request: pytest.FixtureRequest, store: TraceStore) -> Recorder:
    """Makes runs, in each mode."""
    return Recorder(request.param, store)


@pytest.fixture
def native(store: TraceStore) -> Recorder:
    """Makes runs with native tool calls."""
    return Recorder("native", store)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], MicroAgent, TraceStore]:
    """Tools, the agent of today with them, and a store, for all examples of a property."""
    folder = tmp_path_factory.mktemp("runs")
    return tools(), MicroAgent(tools=tools()), TraceStore(folder / "traces", state_dir=folder / "state")


@pytest.fixture
def today() -> MicroAgent:
    """The agent that recorded runs are verified with; it has no model."""
    return MicroAgent(tools=tools())
