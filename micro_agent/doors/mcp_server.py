"""An agent as an MCP server: ``ask`` and the user's own tools, over standard input and output.

What needs a person's word is put to the person behind the client, where it can ask them. Else it is refused with a
code: a run waits for ``micro-agent approve``, a tool of the user's is not called.
"""

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal, cast

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from micro_agent import __version__
from micro_agent.agent import MicroAgent
from micro_agent.decoding import ToolCall
from micro_agent.doors.mcp_asking import AskedFirst, Person
from micro_agent.effects import Approval, refusal
from micro_agent.errors import ConfigurationError, MicroAgentError
from micro_agent.files.masking import mask_of
from micro_agent.run import Run
from micro_agent.running.previews import preview_of, rejection_of
from micro_agent.streaming import StepTaken, StreamEvent
from micro_agent.text.printable import visible
from micro_agent.tools import Outcome, Ready, Tool, aexecute, prepare

AT_ONCE = 8
"""So many questions are asked of the model at the same time; others wait."""
_MOST_ASKED = 100
"""So many questions about the user's tools may be open at a time; the oldest are asked anew."""
Unasked = Literal["pause", "never", "all"]
_ASK: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "What to do or to find out, with all it needs."}},
    "required": ["question"],
}
_ABOUT = "Ask an agent that has tools of its own. It answers in text, and knows nothing of what was asked before."
_Context = ServerRequestContext[Any]
_Result = types.CallToolResult | types.InputRequiredResult


class Door:
    """What one process serves.

    Args:
        agent: Who is asked. It must pause for confirmations, and have traces where its paused runs are found.
        tools: The user's own tools, by name, offered beside ``ask``.
        unasked: What happens to their calls that want a word: ``pause`` asks the person behind the client.

    Raises:
        ConfigurationError: One of the tools is named ``ask``.
    """

    def __init__(self, agent: MicroAgent, tools: Mapping[str, Tool], *, unasked: Unasked = "pause") -> None:
        if "ask" in tools:
            raise ConfigurationError("one of your tools is named 'ask', as the agent is here; give it another name")
        self._agent, self._tools, self._unasked = agent, tools, unasked
        self._room = asyncio.Semaphore(AT_ONCE)
        self._waiting: dict[str, Run] = {}
        """The paused runs of this process that the client is to bring a word on, by the digests of their questions."""
        self._asked: dict[str, str] = {}
        """What the client is to bring a word on for calls of the user's tools: the digest of the call, by its state."""

    def server(self) -> Server[Any]:
        """The server, for any transport."""
        told = "micro-agent: an agent on a small local model, and tools of its user."
        return Server(
            "micro-agent", version=__version__, instructions=told, on_list_tools=self._list, on_call_tool=self._call
        )

    async def serve(self) -> None:
        """Serve on standard input and output until the client closes them."""
        server = self.server()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def _list(self, context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        ask = types.Tool(name="ask", description=_ABOUT, input_schema=_ASK)
        return types.ListToolsResult(tools=[ask, *map(_offered, self._tools.values())], ttl_ms=0, cache_scope="private")

    async def _call(self, context: _Context, params: types.CallToolRequestParams) -> _Result:
        person = Person(context, params)
        try:
            if params.name == "ask":
                return await self._ask(context, params.arguments or {}, person)
            return _given(await self._own(ToolCall(params.name, params.arguments or {}), person))
        except AskedFirst as asked:
            return asked.result
        except MicroAgentError as error:
            return _failed("FAILED", str(error))

    async def _ask(self, context: _Context, arguments: Mapping[str, Any], person: Person) -> types.CallToolResult:
        question = arguments.get("question")
        if not isinstance(question, str) or not question.strip():
            return _failed("VALIDATION_FAILED", "question must be text that is not blank")
        state = person.params.request_state
        run = self._waiting.pop(state, None) if state else None
        if state and run is None:
            return _failed("APPROVAL_EXPIRED", "that question is not open any more; ask anew")
        if run is None:
            async with self._room:
                run = await self._agent.aask(question, on_event=_Progress(context))
        while run.status == "confirmation_required" and (asked := run.confirmation) is not None:
            self._waiting[asked["sha256"]] = run
            word = await person.word(asked["sha256"], _shown(asked))
            del self._waiting[asked["sha256"]]
            if word is None or word.word == "pause":
                break
            async with self._room:
                run = await self._agent.aresume(run.id, word, on_event=_Progress(context))
        return _answer(run)

    async def _own(self, call: ToolCall, person: Person) -> Outcome:
        """Call one of the user's tools, as an agent would."""
        ready = prepare(self._tools, call)
        if not isinstance(ready, Ready):
            return Outcome(ready.observation, ok=False, error=ready.error, latency_s=None)
        if self._unasked != "all" and await asyncio.to_thread(ready.tool.needs_confirmation, ready.args):
            word = Approval("never")
            if self._unasked == "pause":
                preview = await asyncio.to_thread(preview_of, ready)
                if isinstance(preview, Outcome):
                    return preview
                asked = {"tool": ready.tool.name, "args": ready.args, "shown": preview}
                digest = sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
                state = self._state(digest, person.params.request_state)
                word = await person.word(state, _shown(asked)) or word
                self._asked.pop(state, None)
            if word.word == "reject":
                return await asyncio.to_thread(rejection_of, ready, word)
            if word.word != "approve":
                return refusal(Approval("never"))
        return await aexecute(ready.tool, ready.args)

    def _state(self, digest: str, brought: str | None) -> str:
        """The state of a question: what the client brought, if that was given for this call and is not used; or new."""
        if brought is not None and self._asked.pop(brought, None) == digest:
            return brought
        while len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        state = token_hex(16)
        self._asked[state] = digest
        return state


class _Progress:
    """Tells a client that wants to know of the steps of a run, which also says that it is still at work."""

    def __init__(self, context: _Context) -> None:
        self._context, self._steps = context, 0
        self._told: set[asyncio.Task[None]] = set()

    def __call__(self, event: StreamEvent) -> None:
        if isinstance(event, StepTaken):
            self._steps += 1
            told = self._context.session.report_progress(self._steps, message=event.step.tool)
            self._told.add(task := asyncio.ensure_future(told))
            task.add_done_callback(self._told.discard)


def _offered(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=tool.read_only, destructive_hint=None if tool.read_only else tool.destructive
    )
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.parameters, annotations=hints
    )  # fmt: skip


def _shown(asked: Mapping[str, Any]) -> str:
    """A question in full, with everything as an escape that does not show as itself."""
    told = {"tool": asked["tool"], "arguments": asked["args"]}
    preview = asked.get("shown")
    text = cast("dict[str, Any]", preview).get("text") if isinstance(preview, dict) else None
    lines = [f"May this call run? {asked.get('reason', '')}".strip(), json.dumps(told, indent=1, ensure_ascii=False)]
    if preview is not None:
        lines.append(text if isinstance(text, str) else json.dumps(preview, indent=1, ensure_ascii=False))
    return visible("\n".join(lines))


def _answer(run: Run) -> types.CallToolResult:
    told: dict[str, Any] = {"status": run.status, "run_id": run.id, "answer": run.answer}
    if run.answer is not None and run.status == "completed":
        return _result(run.answer, told)
    error = run.error or {}
    code, message = str(run.termination_reason or run.status), str(error.get("message", "the run gave no answer"))
    if run.status == "confirmation_required" and run.confirmation is not None:
        tool = run.confirmation["tool"]
        message = f"a person has to approve a call of {tool}: micro-agent approve {run.id}, then micro-agent resume"
        told["confirmation"] = run.confirmation
    return _failed(code.upper(), message, told)


def _given(outcome: Outcome) -> types.CallToolResult:
    seen = outcome.observation
    text = seen if isinstance(seen, str) else json.dumps(seen, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(text=mask_of().text(text))], is_error=not outcome.ok
    )  # fmt: skip


def _failed(code: str, message: str, told: dict[str, Any] | None = None) -> types.CallToolResult:
    found = _result(f"{code}: {message}", {**(told or {}), "error": code})
    found.is_error = True
    return found


def _result(text: str, told: dict[str, Any]) -> types.CallToolResult:
    structured = json.loads(mask_of().text(json.dumps(told)))
    return types.CallToolResult(content=[types.TextContent(text=mask_of().text(text))], structured_content=structured)
