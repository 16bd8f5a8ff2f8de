# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false
"""DSPy's callbacks: a question is one call of a module, a tool run one call of a tool inside of it."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy.utils import BaseCallback
from dspy.utils.callback import ACTIVE_CALL_ID

from micro_agent import MicroAgent, Run, Tool
from micro_agent.effects import Approval
from micro_agent.rules import AfterStep, Stop
from micro_agent.streaming import Ended
from micro_agent.testing import ScriptedLM, call, calls, text
from micro_agent.tools import ToolError


class Log(BaseCallback):
    """What was told, in order: what, of whom, inside of what, with what."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str | None, Any]] = []
        self.names: dict[str, str] = {}

    def _start(self, what: str, call_id: str, instance: Any, inputs: Any) -> None:
        name = instance.name if what == "tool" else type(instance).__name__
        self.names[call_id] = name
        parent = ACTIVE_CALL_ID.get()
        self.events.append((f"{what} start", name, self.names[parent] if parent else None, inputs))

    def _end(self, what: str, call_id: str, outputs: Any, exception: Any) -> None:
        parent = ACTIVE_CALL_ID.get()
        self.events.append(
            (f"{what} end", self.names[call_id], self.names[parent] if parent else None, exception or outputs)
        )

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self._start("module", call_id, instance, inputs)

    def on_module_end(self, call_id: str, outputs: Any, exception: Any = None) -> None:
        self._end("module", call_id, outputs, exception)

    def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self._start("tool", call_id, instance, inputs)

    def on_tool_end(self, call_id: str, outputs: Any, exception: Any = None) -> None:
        self._end("tool", call_id, outputs, exception)

    def told(self) -> list[tuple[str, str, str | None]]:
        return [event[:3] for event in self.events]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent(*tools: Any, script: Any = None, **options: Any) -> MicroAgent:
    script = script or [call("add", {"a": 1, "b": 2}), text("It is 3.")]
    return MicroAgent(tools=[*tools] or [add], lm=ScriptedLM(script), rules=[], **options)


def streamed(agent: MicroAgent) -> Run:
    (ended,) = [event for event in agent.stream("1+2?") if isinstance(event, Ended)]
    return ended.run


async def astreamed(agent: MicroAgent) -> Run:
    (ended,) = [event async for event in agent.astream("1+2?") if isinstance(event, Ended)]
    return ended.run


WAYS: dict[str, Callable[[MicroAgent], Any]] = {
    "call": lambda agent: agent(question="1+2?"),
    "acall": lambda agent: asyncio.run(agent.acall(question="1+2?")),
    "ask": lambda agent: agent.ask("1+2?"),
    "aask": lambda agent: asyncio.run(agent.aask("1+2?")),
    "stream": streamed,
    "astream": lambda agent: asyncio.run(astreamed(agent)),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_asking_is_told_once_and_tools_inside_of_it(way: str) -> None:
    log = Log()
    with dspy.context(callbacks=[log]):
        assert WAYS[way](agent()).answer == "It is 3."
    assert log.told() == [
        ("module start", "MicroAgent", None),
        ("module start", "Predict", "MicroAgent"),
        ("module end", "Predict", "MicroAgent"),
        ("tool start", "add", "MicroAgent"),
        ("tool end", "add", "MicroAgent"),
        ("module start", "Predict", "MicroAgent"),
        ("module end", "Predict", "MicroAgent"),
        ("module end", "MicroAgent", None),
    ]
    assert [event[3] for event in log.events if event[0].startswith("tool")] == [{"kwargs": {"a": 1, "b": 2}}, 3]
    inputs = log.events[0][3]
    assert inputs.get("kwargs", inputs)["question"] == "1+2?"
    assert log.events[-1][3].answer == "It is 3."


def test_the_callbacks_of_one_agent_are_told_of_its_questions() -> None:
    log, one = Log(), agent()
    one.callbacks.append(log)
    one.ask("1+2?")
    assert log.told() == [("module start", "MicroAgent", None), ("module end", "MicroAgent", None)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_going_on_with_a_run_is_told_too(asynchronous: bool) -> None:
    schema = {"type": "object", "properties": {}}
    log, tool = Log(), Tool("add", "", schema, lambda: 3, requires_confirmation=True)
    one = agent(tool, script=[call("add", {}), text("It is 3.")])
    paused = one.ask("?")
    with dspy.context(callbacks=[log]):
        if asynchronous:
            asyncio.run(one.aresume(paused, Approval("approve")))
        else:
            one.resume(paused, Approval("approve"))
    assert [event for event in log.told() if event[1] != "Predict"] == [
        ("module start", "MicroAgent", None), ("tool start", "add", "MicroAgent"),
        ("tool end", "add", "MicroAgent"), ("module end", "MicroAgent", None),
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["ask", "aask"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_fails_ends_with_what_the_model_is_told(way: str, asynchronous: bool) -> None:
    def broken(a: int, b: int) -> int:
        """Add."""
        raise ValueError("no")

    async def abroken(a: int, b: int) -> int:
        """Add."""
        raise ToolError("OUT_OF_ORDER", "come back later")

    log = Log()
    tool = dspy.Tool(abroken if asynchronous else broken, name="add")
    with dspy.context(callbacks=[log]):
        WAYS[way](agent(tool))
    (error,) = [event[3] for event in log.events if event[0] == "tool end"]
    assert isinstance(error, ToolError)
    told = ("OUT_OF_ORDER", "come back later") if asynchronous else ("TOOL_EXCEPTION", "ValueError: no")
    assert (error.code, error.message) == told


@pytest.mark.parametrize("way", ["ask", "aask"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_of_dspy_is_told_once_and_as_itself(way: str, asynchronous: bool) -> None:
    async def aadd(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    seen: list[Any] = []

    class Own(Log):
        def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            seen.append(instance)
            super().on_tool_start(call_id, instance, inputs)

    log = Own()
    tool = dspy.Tool(aadd if asynchronous else add, name="add")
    with dspy.context(callbacks=[log]):
        assert WAYS[way](agent(tool)).answer == "It is 3."
    assert [event[3] for event in log.events if event[0].startswith("tool")] == [{"kwargs": {"a": 1, "b": 2}}, 3]
    assert seen == [tool]


def test_an_agent_in_a_tool_stands_below_that_tool() -> None:
    inner = agent()

    def sub(question: str) -> str | None:
        """Ask another agent."""
        return inner.ask(question).answer

    log = Log()
    with dspy.context(callbacks=[log]):
        agent(sub, script=[call("sub", {"question": "1+2?"}), text("3.")]).ask("?")
    starts = [(name, parent) for what, name, parent in log.told() if what.endswith("start") and name != "Predict"]
    assert starts == [("MicroAgent", None), ("sub", "MicroAgent"), ("MicroAgent", "sub"), ("add", "MicroAgent")]


def test_dspy_is_shown_the_name_the_text_and_the_arguments_of_a_tool() -> None:
    shown: list[Any] = []

    class Own(BaseCallback):
        def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            shown.append(instance)

    with dspy.context(callbacks=[Own()]):
        agent().ask("1+2?")
    (tool,) = shown
    assert isinstance(tool, dspy.Tool)
    assert (tool.name, tool.desc, set(tool.args or ())) == ("add", "Add two numbers.", {"a", "b"})
    assert tool(a=2, b=2) == 4


@pytest.mark.parametrize("way", WAYS)
def test_a_callback_that_fails_ends_nothing(way: str, caplog: pytest.LogCaptureFixture) -> None:
    class Bad(BaseCallback):
        def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            raise ValueError("no")

        def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            raise ValueError("no")

        on_tool_end = on_module_end = on_tool_start  # pyright: ignore

    with dspy.context(callbacks=[Bad()]):
        assert WAYS[way](agent()).answer == "It is 3."
    assert "on_tool_start failed (ValueError: no); the run goes on" in caplog.messages


@pytest.mark.parametrize("way", ["ask", "aask"])
def test_tools_that_run_at_once_stand_beside_each_other(way: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def read(n: int) -> int:
        return n

    tool = Tool("read", "", schema, read, read_only=True)
    log = Log()
    with dspy.context(callbacks=[log]):
        WAYS[way](agent(tool, script=[calls(("read", {"n": 1}), ("read", {"n": 2})), text("Well.")]))
    told = [event for event in log.events if event[1] == "read"]
    assert {event[2] for event in told} == {"MicroAgent"}
    assert sorted(str(event[3]) for event in told) == ["1", "2", "{'kwargs': {'n': 1}}", "{'kwargs': {'n': 2}}"]


@pytest.mark.parametrize("way", ["ask", "aask"])
def test_a_tool_that_had_begun_and_is_not_wanted_has_an_end(way: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    begun, free = threading.Event(), threading.Event()

    def read(n: int) -> int:
        (begun if n == 2 else free).set()
        (free if n == 2 else begun).wait(10)
        return n

    def stops(run: Run, event: Any) -> Stop | None:
        return Stop("enough", "enough") if isinstance(event, AfterStep) else None

    log, tool = Log(), Tool("read", "", schema, read, read_only=True)
    one = MicroAgent([tool], ScriptedLM([calls(("read", {"n": 1}), ("read", {"n": 2}))]), rules=[stops])
    with dspy.context(callbacks=[log]):
        WAYS[way](one)
    ends = [event[3] for event in log.events if event[0] == "tool end"]
    assert len(ends) == 2


def test_a_tool_that_is_broken_off_has_an_end() -> None:
    log = Log()

    async def slow() -> None:
        """Wait."""
        running.cancel()
        await asyncio.sleep(30)

    async def main() -> None:
        nonlocal running
        running = asyncio.create_task(agent(slow, script=[call("slow", {})]).aask("?"))
        with pytest.raises(asyncio.CancelledError):
            await running

    running: asyncio.Task[Run]
    with dspy.context(callbacks=[log]):
        asyncio.run(main())
    (end,) = [event for event in log.events if event[0] == "tool end"]
    assert isinstance(end[3], asyncio.CancelledError)
