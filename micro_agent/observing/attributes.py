"""What the spans of a run tell: OpenTelemetry's GenAI names, OpenInference's where Phoenix reads those, and our own.

https://opentelemetry.io/docs/specs/semconv/gen-ai/ and https://github.com/Arize-ai/openinference/tree/main/spec
(both as of 2026). What is not known has no attribute.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, cast
from urllib.parse import urlsplit

from micro_agent.run import LMCall, Run, Step

Attribute = str | bool | int | float | list[str]
Attributes = dict[str, Attribute]

MOST_TEXT = 32_768
"""Characters of one attribute with content."""
_KIND = "openinference.span.kind"
_DIGITS = 8
_LONGEST = 1000
_SHELLS = ("sh", "bash")


def of_run(run: Run, *, content: bool) -> Attributes:
    """``agent.run``. Tokens and cost of its requests stand in their spans; a sum here would count them twice."""
    first = run.earlier[0].id if run.earlier else run.follows or run.id
    told: dict[str, Attribute | None] = {
        _KIND: "AGENT", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "micro-agent",
        "gen_ai.conversation.id": first, "session.id": first, "micro_agent.run_id": run.id,
        "micro_agent.status": run.status, "micro_agent.termination_reason": run.termination_reason,
        "micro_agent.steps": len(run.steps), "micro_agent.mode": run.mode, "micro_agent.parent_run": run.parent,
        "micro_agent.usage.lm_calls": run.usage.lm_calls, "micro_agent.usage.tool_calls": run.usage.tool_calls,
        "micro_agent.usage.input_tokens": run.usage.input_tokens,
        "micro_agent.usage.output_tokens": run.usage.output_tokens, "micro_agent.usage.cost_usd": run.usage.cost_usd,
        "error.type": _code(run.error), **_model(run),
    }  # fmt: skip
    if content:
        told |= {"input.value": _cut(run.question), "input.mime_type": "text/plain"}
        told |= {"output.value": _cut(run.answer), "output.mime_type": "text/plain"} if run.answer is not None else {}
    return _known(told)


def ended(run: Run) -> str:
    """What ended a run that has no answer."""
    said = str((run.error or {}).get("message") or "")
    return f"{run.termination_reason or run.status}: {said}".removesuffix(": ")[:_LONGEST]


def of_call(run: Run, call: LMCall, before: LMCall | None, *, in_force: bool, content: bool) -> Attributes:
    """``model.step``: one reply to a request."""
    told: dict[str, Attribute | None] = {
        **_asking(run, call.server), **_tokens(call.input_tokens, call.output_tokens, call.cost_usd),
        "gen_ai.response.model": call.model, "gen_ai.response.finish_reasons": _list(call.finish_reason),
        "response.json_valid": call.error is None and not call.repairs,
        "format_retry": before is not None and before.error is not None,
        "micro_agent.retries": call.retries, "micro_agent.in_force": in_force, "micro_agent.mode": call.mode,
        "duration_ms": round(call.latency_s * 1000, 3), "error.type": (call.error or {}).get("reason"),
    }  # fmt: skip
    if content:
        told |= _said(call.reply)
    return _known(told)


def unread(call: LMCall) -> str | None:
    """Why a reply could not be read."""
    return None if call.error is None else f"unreadable reply: {call.error.get('reason')}"


def of_question(run: Run, step: Step, *, content: bool) -> Attributes:
    """``model.step`` of a question to the model about its last reply."""
    used = step.usage
    told: dict[str, Attribute | None] = {
        **_asking(run), "micro_agent.asks": step.tool,
        **(_tokens(used.input_tokens, used.output_tokens, used.cost_usd) if used is not None else {}),
        "duration_ms": None if step.latency_s is None else round(step.latency_s * 1000, 3),
    }  # fmt: skip
    if content:
        told |= {"output.value": _cut(str(step.args.get("reply", ""))), "output.mime_type": "text/plain"}
    return _known(told)


def of_tool(step: Step, *, told: bool, content: bool) -> Attributes:
    """``tool_wrapped.<tool>``: one call, made or refused; ``told``: whether the model was told what came of it."""
    args = _json(step.args)
    whole = step.result if step.result is not None else step.observation
    seen = step.observation if isinstance(step.observation, str) else _json(step.observation)
    found: dict[str, Attribute | None] = {
        _KIND: "TOOL", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step.tool,
        "gen_ai.tool.call.id": step.call_id, "gen_ai.tool.type": "function", "tool.name": step.tool,
        "tool.args.hash": sha256(args.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS],
        "tool.args.size": len(args.encode("utf-8", "surrogatepass")),
        "result.ok": step.ok, "result.error_type": step.error, "error.type": step.error,
        "policy.suggested_next_tool": _suggested(whole),
        "output.chars": len(seen), "output.lines": sum(text.count("\n") + 1 for text in _texts(whole)),
        "output.truncated": step.result is not None or _field(whole, "truncated") is True,
        "output.items": _items(whole), "micro_agent.edited": step.edited is not None, "micro_agent.in_force": told,
        "duration_ms": None if step.latency_s is None else round(step.latency_s * 1000, 3),
    }  # fmt: skip
    if content:
        found |= {"input.value": _cut(args), "input.mime_type": "application/json", "output.value": _cut(seen)}
        found |= {"output.mime_type": "text/plain" if isinstance(step.observation, str) else "application/json"}
        found |= {"gen_ai.tool.call.arguments": _cut(args), "gen_ai.tool.call.result": _cut(seen)}
    return _known(found)


def of_approval(word: Mapping[str, Any]) -> Attributes:
    """``approval.wait``."""
    names = {"id": "patch_id" if word.get("kind") == "patch" else "id"}
    listed = ("kind", "id", "file", "requested_by", "granted", "feedback")
    told = {f"approval.{names.get(name, name)}": word.get(name) for name in listed}
    return _known({_KIND: "GUARDRAIL", **told, "duration_ms": _ms(word.get("seconds"))})


def program_name(program: Mapping[str, Any]) -> str:
    """What a program is called: its file, or behind a shell that only prepares it (``sh -c '… exec "$@"' sh``) it."""
    argv = _argvs(program)[0] if _argvs(program) else []
    name = PurePosixPath(argv[0]).name if argv else ""
    if name in _SHELLS and len(argv) > 4 and argv[1] == "-c" and argv[2].endswith('exec "$@"'):
        name = PurePosixPath(argv[4]).name
    return name or "unknown"


def of_program(program: Mapping[str, Any]) -> Attributes:
    """``sandbox.<program>``: what ran in a sandbox."""
    told: dict[str, Attribute | None] = {
        _KIND: "TOOL", "sandbox.kind": program.get("kind"), "sandbox.profile": program.get("profile"),
        "process.command_args": [arg for argv in _argvs(program) for arg in (*argv, "|")][:-1],
        "process.exit.code": program.get("exit"), "sandbox.timed_out": program.get("timed_out"),
        "duration_ms": _ms(program.get("seconds")),
    }  # fmt: skip
    return _known(told)


def failed_program(program: Mapping[str, Any]) -> str | None:
    """Why a program did not end by itself. An exit status is a result: ``grep`` that finds nothing has not failed."""
    return "killed for its time" if program.get("timed_out") is True else None


def of_gates(gates: Mapping[str, Any]) -> Attributes:
    """``gate_check``: how the run stood at its end, as its coach says."""
    told = {f"gate.{name}": value if _is_plain(value) else _json(value) for name, value in gates.items()}
    return _known({_KIND: "GUARDRAIL", **told})


def of_word(step: Step, *, content: bool) -> Attributes:
    """A word of the loop, as an event of the run."""
    told: dict[str, Attribute | None] = {"ok": step.ok, "error.type": step.error}
    if content:
        told["text"] = _cut(step.observation if isinstance(step.observation, str) else _json(step.observation))
    return _known(told)


def _asking(run: Run, server: str | None = None) -> dict[str, Attribute | None]:
    return {_KIND: "LLM", "gen_ai.operation.name": "chat", **_model(run, server)}


def _model(run: Run, server: str | None = None) -> dict[str, Attribute | None]:
    address = urlsplit(server or run.base_url or "")
    try:
        port = address.port
    except ValueError:  # a base URL of a record that was changed by hand
        port = None
    return {
        "gen_ai.provider.name": run.provider, "gen_ai.request.model": run.model, "llm.model_name": run.model,
        "llm.provider": run.provider, "server.address": address.hostname, "server.port": port,
    }  # fmt: skip


def _tokens(prompt: int | None, completion: int | None, cost: float | None) -> dict[str, Attribute | None]:
    return {
        "gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": completion,
        "llm.token_count.prompt": prompt, "llm.token_count.completion": completion,
        "llm.token_count.total": None if prompt is None or completion is None else prompt + completion,
        "llm.cost.total": cost,
    }  # fmt: skip


def _said(reply: Mapping[str, Any]) -> dict[str, Attribute | None]:
    """A reply as it came: its text, and the calls in it."""
    told: dict[str, Attribute | None] = {"llm.output_messages.0.message.role": "assistant"}
    text = str(reply.get("text") or "")
    calls = cast("list[dict[str, Any]]", reply.get("tool_calls") or [])
    told |= {"llm.output_messages.0.message.content": _cut(text)} if text else {}
    for number, call in enumerate(calls):
        at = f"llm.output_messages.0.message.tool_calls.{number}.tool_call"
        arguments: Any = call.get("arguments")
        told[f"{at}.function.name"] = str(call.get("name") or "")
        told[f"{at}.function.arguments"] = _cut(arguments if isinstance(arguments, str) else _json(arguments))
    told["output.value"] = _cut(text or _json(calls))
    return told


def _suggested(seen: Any) -> str | None:
    name = _field(_field(_field(seen, "recovery_suggestion"), "tool_call"), "name")
    return name if isinstance(name, str) else None


def _items(seen: Any) -> int | None:
    """How many things there are in a result that is a list, or an object with exactly one."""
    if isinstance(seen, list):
        return len(cast("list[Any]", seen))
    values = cast("dict[str, Any]", seen).values() if isinstance(seen, dict) else ()
    lists = [cast("list[Any]", value) for value in values if isinstance(value, list)]
    return len(lists[0]) if len(lists) == 1 else None


def _texts(seen: Any) -> Iterator[str]:
    waiting: list[Any] = [seen]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += cast("dict[str, Any]", part).values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)


def _argvs(program: Mapping[str, Any]) -> list[list[str]]:
    return cast("list[list[str]]", program.get("argv") or [])


def _field(seen: Any, name: str) -> Any:
    return cast("dict[str, Any]", seen).get(name) if isinstance(seen, dict) else None


def _code(error: Mapping[str, Any] | None) -> str | None:
    return str(error["code"]) if error and error.get("code") else None


def _ms(seconds: Any) -> float | None:
    return round(seconds * 1000, 3) if isinstance(seconds, int | float) else None


def _list(value: str | None) -> list[str] | None:
    return None if value is None else [value]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def _known(told: Mapping[str, Any]) -> Attributes:
    return {name: value for name, value in told.items() if value is not None}
