"""The agent as an MCP server, asked by the SDK's client in both forms of the protocol."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types.version import LATEST_MODERN_VERSION

from micro_agent import MicroAgent, tool
from micro_agent.doors.mcp_server import Door
from micro_agent.errors import ConfigurationError
from micro_agent.testing import Reply, ScriptedLM, call, error, text
from micro_agent.tools import Tool, ToolError
from micro_agent.traces import TraceStore
from tests.each import each
from tests.warm import ROOT, Warm

RAN: list[str] = []


@tool(read_only=True)
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@tool(requires_confirmation=True)
def wipe(path: str) -> str:
    """Wipe a file."""
    RAN.append(path)
    return f"wiped {path}"


def _preview(args: dict[str, Any]) -> dict[str, Any]:
    if args["text"] == "bad":
        raise ToolError("NO_DRAFT", "there is nothing to send")
    return {"kind": "command", "text": f"mail {args['text']}\u202e"} if args["text"] != "plain" else {"to": "ann"}


def _send(text: str) -> str:
    return f"sent {text}"


SEND = Tool(
    "send", "Send a text.", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}, _send,
    requires_confirmation=True, preview=_preview,
)  # fmt: skip
OWN = {one.name: one for one in (double, wipe, SEND)}
Said = Callable[[Any, types.ElicitRequestParams], Awaitable[types.ElicitResult | types.ErrorData]]


class Asked:
    """A person who says this, and what they were shown."""

    def __init__(self, action: Any, **content: Any) -> None:
        self.shown: list[str] = []
        self.action, self._content = action, content

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult | types.ErrorData:
        self.shown.append(params.message)
        if self.action == "broken":
            return types.ErrorData(code=-32603, message="no screen")
        return types.ElicitResult(action=self.action, content=self._content or None)


def door(store: TraceStore, script: list[Reply] | None = None, **options: Any) -> Door:
    agent = MicroAgent(tools=[wipe, double], lm=ScriptedLM(script or [text("Hello.")]), rules=[], traces=store)
    return Door(agent, OWN, **options)


def asked(
    served: Door, *calls: tuple[str, dict[str, Any]], mode: str = "auto", person: Any = None
) -> list[types.CallToolResult]:
    """What the calls give."""

    async def main() -> list[types.CallToolResult]:
        async with Client(served.server(), mode=mode, elicitation_callback=person, cache=None) as client:
            return [await client.call_tool(name, args) for name, args in calls]

    return asyncio.run(main())


def said(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@each("mode", ["legacy", LATEST_MODERN_VERSION, "auto"])
def test_it_offers_ask_and_the_users_tools(mode: str, store: TraceStore) -> None:
    steps: list[tuple[float, str | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, message))

    async def main() -> None:
        served = door(store, [call("double", {"n": 2}), text("It is 4.")]).server()
        async with Client(served, mode=mode, cache=None) as client:
            listed = (await client.list_tools()).tools
            assert [one.name for one in listed] == ["ask", "double", "wipe", "send"]
            hints = [one.annotations.read_only_hint if one.annotations else None for one in listed]
            assert hints == [None, True, False, False]
            result = await client.call_tool("ask", {"question": "Twice 2?"}, progress_callback=told)
            assert said(result) == "It is 4."
            assert (result.is_error, result.structured_content["status"]) == (False, "completed")
            assert store.load(result.structured_content["run_id"]).answer == "It is 4."
            assert said(await client.call_tool("double", {"n": "4"})) == "8"
            unknown = await client.call_tool("triple", {"n": 4})
            assert (unknown.is_error, json.loads(said(unknown))["error"]) == (True, "UNKNOWN_TOOL")

    asyncio.run(main())
    assert steps == [(1, "double")]


@each(("mode", "person", "told", "ran"), [
    (mode, person, told, ran)
    for mode in ("legacy", "auto")
    for person, told, ran in (
        (Asked("accept", approve=True), "wiped a", ["a"]), (Asked("accept", approve=False), "APPROVAL_REJECTED", []),
        (Asked("decline", feedback="not that"), "APPROVAL_REJECTED", []), (Asked("cancel"), "APPROVAL_REQUIRED", []),
        (Asked("broken"), "APPROVAL_REQUIRED", []), (None, "APPROVAL_REQUIRED", []),
    )
    if not (mode == "auto" and isinstance(person, Asked) and person.action == "broken")
])  # fmt: skip
def test_a_person_is_asked_about_a_tool_of_the_users(
    mode: str, person: Any, told: str, ran: list[str], store: TraceStore
) -> None:
    RAN.clear()
    (result,) = asked(door(store), ("wipe", {"path": "a"}), mode=mode, person=person)
    assert told in said(result)
    assert (RAN, result.is_error) == (ran, not ran)
    if person is not None:
        assert person.shown == ['May this call run?\n{\n "tool": "wipe",\n "arguments": {\n  "path": "a"\n }\n}']


def test_what_a_tool_shows_of_a_call_is_shown_and_what_fails_is_told(store: TraceStore) -> None:
    person = Asked("accept", approve=True)
    calls = [("send", {"text": text}) for text in ("hi", "plain", "bad")]
    results = asked(door(store), *calls, person=person)
    assert [said(result) for result in results[:2]] == ["sent hi", "sent plain"]
    assert json.loads(said(results[2]))["error"] == "NO_DRAFT"
    assert [shown.rpartition("}\n")[2] for shown in person.shown] == ["mail hi\\u202e", '{\n "to": "ann"\n}']


@each(("unasked", "told"), [("all", "wiped a"), ("never", "APPROVAL_REQUIRED")])
def test_who_starts_it_can_answer_for_all(unasked: Any, told: str, store: TraceStore) -> None:
    person = Asked("accept", approve=True)
    (result,) = asked(door(store, unasked=unasked), ("wipe", {"path": "a"}), person=person)
    assert (told in said(result), person.shown) == (True, [])


@each("mode", ["legacy", "auto"])
def test_a_run_asks_the_person_too(mode: str, store: TraceStore) -> None:
    RAN.clear()
    script = [call("wipe", {"path": "b"}), text("It is gone.")]
    question = ("ask", {"question": "Wipe b."})
    person = Asked("accept", approve=True)
    (result,) = asked(door(store, script), question, mode=mode, person=person)
    assert (said(result), RAN) == ("It is gone.", ["b"])
    assert person.shown[0].startswith('May this call run? This tool asks for confirmation.\n{\n "tool": "wipe"')
    (waits,) = asked(door(store, script), question, mode=mode)
    run_id = waits.structured_content["run_id"]
    assert said(waits) == (
        f"CONFIRMATION_REQUIRED: a person has to approve a call of wipe: micro-agent approve {run_id}, then "
        "micro-agent resume"
    )
    assert waits.is_error
    assert run_id in {run.id for run in store.open_runs() if run.status == "confirmation_required"}
    (later,) = asked(door(store, script), question, mode=mode, person=Asked("cancel"))
    assert said(later).startswith("CONFIRMATION_REQUIRED: ")


def test_an_answer_to_another_question_is_none(store: TraceStore) -> None:
    async def main() -> None:
        served = door(store).server()
        async with Client(served, elicitation_callback=Asked("accept", approve=True), cache=None) as client:
            brought: Any = {"approval": types.ElicitResult(action="accept", content={"approve": True})}
            gone = await client.call_tool("ask", {"question": "?"}, input_responses=brought, request_state="0" * 64)
            assert said(gone).startswith("APPROVAL_EXPIRED: ")
            other = await client.session.call_tool(
                "wipe", {"path": "c"}, input_responses=brought, request_state="0" * 64, allow_input_required=True
            )
            assert isinstance(other, types.InputRequiredResult)

    RAN.clear()
    asyncio.run(main())
    assert RAN == []


def test_an_answer_counts_once_and_only_to_what_was_asked(store: TraceStore) -> None:
    brought: Any = {"approval": types.ElicitResult(action="accept", content={"approve": True})}
    own = {"tool": "wipe", "args": {"path": "c"}, "shown": None}
    guessed = sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()

    async def main() -> None:
        served = door(store).server()
        async with Client(served, elicitation_callback=Asked("accept", approve=True), cache=None) as client:

            async def wipe(path: str, state: str | None) -> Any:
                return await client.session.call_tool(
                    "wipe", {"path": path}, input_responses=brought, request_state=state, allow_input_required=True
                )  # fmt: skip

            *_, first = [await wipe("c", guessed) for _ in range(101)]
            assert (await wipe("d", first.request_state)).request_state != first.request_state
            assert (await wipe("c", first.request_state)).request_state != first.request_state
            first = await wipe("c", None)
            assert said(await wipe("c", first.request_state)) == "wiped c"
            assert isinstance(await wipe("c", first.request_state), types.InputRequiredResult)

    RAN.clear()
    asyncio.run(main())
    assert RAN == ["c"]


@each("mode", ["legacy", "auto"])
def test_a_client_that_cancels_ends_the_run(mode: str, store: TraceStore) -> None:
    begun, before = asyncio.Event(), set(store.ids())

    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def main() -> None:
        agent = MicroAgent(tools=[wait], lm=ScriptedLM([call("wait", {})]), rules=[], traces=store)
        async with Client(Door(agent, {}).server(), mode=mode, cache=None) as client:
            asking = asyncio.create_task(client.call_tool("ask", {"question": "Wait."}))
            await begun.wait()
            asking.cancel()
            while set(store.ids()) == before:
                await asyncio.sleep(0.01)

    asyncio.run(main())
    (ident,) = set(store.ids()) - before
    run = store.load(ident)
    assert (run.status, run.termination_reason) == ("stopped", "cancelled")


def test_what_cannot_be_answered_has_a_code(store: TraceStore, tmp_path: Path) -> None:
    questions = [("ask", {"question": text}) for text in (" ", "Who?")]
    blank, failed = asked(door(store, [error(401, "no key")]), *questions)
    assert said(blank) == "VALIDATION_FAILED: question must be text that is not blank"
    assert said(failed).startswith("LM_ERROR: ")
    (tmp_path / "file").write_text("")
    broken = TraceStore(tmp_path / "file", state_dir=tmp_path / "file")
    (lost,) = asked(door(broken), ("ask", {"question": "Who?"}))
    assert (lost.is_error, said(lost).startswith("FAILED: ")) == (True, True)
    with pytest.raises(ConfigurationError, match="one of your tools is named 'ask'"):
        Door(MicroAgent(lm=ScriptedLM([])), {"ask": double})


def test_the_command_speaks_nothing_but_the_protocol(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from micro_agent import tool\n\n@tool\ndef shout(text: str) -> str:\n"
        '    """Shout."""\n    print("not on the wire")\n    return text.upper()\n'
    )
    command = ["mcp", "--provider", "mock", "--tools", "own.py"]
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    server = StdioServerParameters(
        command=str(warm.scripts / "micro-agent"), args=command, env=environment, cwd=tmp_path
    )  # fmt: skip

    async def main() -> None:
        async with Client(server, cache=None) as client:
            assert [one.name for one in (await client.list_tools()).tools] == ["ask", "shout"]
            assert said(await client.call_tool("shout", {"text": "hi"})) == "HI"
            assert said(await client.call_tool("ask", {"question": "What is 2*8?"})) == "The answer is 16."
            with pytest.raises(MCPError):
                await client.read_resource("file:///etc/passwd")

    asyncio.run(main())
