# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The loops that are compared: the same questions, tool and wire, from bare sockets to micro-agent."""

import atexit
import http.client
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import dspy
from dspy.lm15 import Config, FunctionTool, Message, Request, TextPart, ToolResultPart

from benchmarks.scripted_server import ANSWER, QUESTION
from micro_agent import Limits, MicroAgent, Tool, configure_lm
from micro_agent.demos import instructions
from micro_agent.models.openai import OpenAIEngine
from micro_agent.models.settings import load_settings
from micro_agent.traces import TraceStore

MODEL = "a-local-model"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
Loop = Callable[[int], None]
AsyncLoop = Callable[[int], Awaitable[None]]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOL = Tool("add", "Add two numbers.", SCHEMA, add, read_only=True)
EFFECTS = replace(TOOL, read_only=False)
"""The same as a tool with side effects: that it starts is on the disk before it runs."""
WIRE_TOOL = {"type": "function", "function": {"name": "add", "description": TOOL.description, "parameters": SCHEMA}}


def raw_loop(base_url: str) -> tuple[Loop, list[int]]:
    """``http.client`` and ``json``, nothing else; also the bytes of each request body."""
    url, sizes = urlsplit(base_url), list[int]()
    connection = http.client.HTTPConnection(url.hostname or "", url.port)

    def loop(steps: int) -> None:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": instructions()},
            {"role": "user", "content": QUESTION.format(steps=steps)},
        ]
        while True:
            body = json.dumps(
                {"model": MODEL, "messages": messages, "tools": [WIRE_TOOL], "temperature": 0.2, "max_tokens": 1024}
            )
            sizes.append(len(body))
            connection.request("POST", url.path + "/chat/completions", body, {"Content-Type": "application/json"})
            message = json.loads(connection.getresponse().read())["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                assert message["content"] == ANSWER
                return
            for call in message["tool_calls"]:
                result = add(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})

    return loop, sizes


class _Conversation:
    """What a hand-written loop over DSPy's typed requests keeps."""

    def __init__(self, model: str, steps: int) -> None:
        self.model, self.messages = model, [Message.user(QUESTION.format(steps=steps))]
        self.tools = (FunctionTool(name="add", description=TOOL.description, parameters=SCHEMA),)

    def request(self) -> Request:
        config = Config(temperature=0.2, max_tokens=1024)
        return Request(
            model=self.model, system=instructions(), messages=tuple(self.messages), tools=self.tools, config=config
        )

    def goes_on(self, response: Any) -> bool:
        self.messages.append(response.message)
        for call in response.tool_calls:
            content = (TextPart(str(add(**call.input))),)
            self.messages.append(
                Message(role="tool", parts=(ToolResultPart(id=call.id, content=content, name=call.name),))
            )
        return bool(response.tool_calls)


def bare_lm(base_url: str) -> dspy.LM:
    """`dspy.LM` as its documentation makes it, without a cache."""
    return dspy.LM(f"openai/{MODEL}", api_base=base_url, api_key="none", cache=False, num_retries=0)


def lm_loop(lm: dspy.LM) -> Loop:
    """A hand-written loop over a bare `dspy.LM`."""

    def loop(steps: int) -> None:
        conversation = _Conversation(lm.model, steps)
        while conversation.goes_on(lm(conversation.request())):
            pass

    return loop


def lm_async_loop(lm: dspy.LM) -> AsyncLoop:
    """The same, awaited."""

    async def loop(steps: int) -> None:
        conversation = _Conversation(lm.model, steps)
        while conversation.goes_on(await lm.acall(conversation.request())):
            pass

    return loop


def engine_loop(base_url: str) -> Loop:
    """A hand-written loop over our engine object alone, without DSPy's request path."""
    engine = OpenAIEngine(model=MODEL, base_url=base_url)

    def loop(steps: int) -> None:
        conversation = _Conversation(f"openai/{MODEL}", steps)
        while conversation.goes_on(engine.complete(conversation.request())):
            pass

    return loop


def engine_lm(base_url: str) -> dspy.LM:
    """`dspy.LM` around our engine object."""
    engine = OpenAIEngine(model=MODEL, base_url=base_url)
    return dspy.LM(f"openai/{MODEL}", engine=engine, async_engine=engine.twin(), cache=False, num_retries=0)


def agent(base_url: str, store: TraceStore | None = None, *, tool: Tool = TOOL) -> MicroAgent:
    """micro-agent as a user makes it: validation, rules, journal and trace on."""
    settings = load_settings()
    lm = configure_lm("openai", MODEL, base_url, settings=settings, fallback=False)
    traces = store or new_store()
    return MicroAgent([tool], lm, limits=Limits(max_steps=100), traces=traces, demos=[], settings=settings)


def new_store() -> TraceStore:
    """Runs on record in a new folder, which goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="micro-agent-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return TraceStore(f"{folder}/traces", state_dir=f"{folder}/state")


def agent_loop(made: MicroAgent) -> Loop:
    """micro-agent, blocking."""

    def loop(steps: int) -> None:
        run = made.ask(QUESTION.format(steps=steps))
        assert run.answer == ANSWER, run.error

    return loop


def agent_async_loop(made: MicroAgent) -> AsyncLoop:
    """micro-agent, awaited."""

    async def loop(steps: int) -> None:
        run = await made.aask(QUESTION.format(steps=steps))
        assert run.answer == ANSWER, run.error

    return loop
