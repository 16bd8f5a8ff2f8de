"""A request as a model reads it: its tools, the task, what it said itself, and what it was told after each reply."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.testing.script import Received
from micro_agent.text.encoding import object_of

_OUTPUT = re.compile(r"Tool \[[^\]\n]*\] output:\n")
_NOTICE = re.compile(r"^(?:Policy|Note|Format): ", re.MULTILINE)
"""How words begin that are not the result of a tool."""
_LISTED = re.compile(r"^- ([\w.-]+)\((.*?)\): ", re.MULTILINE)
"""A tool in the prompt of JSON mode, where no schema says more."""
_PARAMETER = re.compile(r"(?:^|, )(\w+)\??(?:: | =|$)")

Schemas = Mapping[str, Mapping[str, Any]]
"""The parameters of each tool, by its name: JSON Schema."""


@dataclass(slots=True)
class Said:
    """One reply of the model, and what it was told next.

    ``name`` and ``args`` are those of a call; ``name`` is ``None`` where the reply is words.
    """

    name: str | None
    args: dict[str, Any]
    words: str = ""
    heard: list[str] = field(default_factory=list[str])

    @property
    def result(self) -> dict[str, Any] | None:
        """What the tool gave; ``None`` if it gave nothing, or nothing that can be read."""
        return _read(self.heard[0])[0] if self.name is not None and self.heard else None

    @property
    def ok(self) -> bool:
        """Whether the call did what it should."""
        return self.result is not None and "error" not in self.result

    @property
    def notice(self) -> str:
        """The words behind the result that are not the tool's; empty if there are none."""
        told = list(self.heard)
        if told and self.result is not None:
            told[0] = _read(told[0])[1]
        found = [text[match.start() :] for text in told if (match := _NOTICE.search(text))]
        return "\n".join(found)

    @property
    def suggested(self) -> tuple[str, dict[str, Any]] | None:
        """The call that an error suggests."""
        suggestion = object_of((self.result or {}).get("recovery_suggestion")) or {}
        call = object_of(suggestion.get("tool_call"))
        return None if call is None else (str(call.get("name")), object_of(call.get("arguments")) or {})


@dataclass(frozen=True, slots=True)
class Conversation:
    """What stands in a request. ``settings`` are those of sampling that differ when a request is made again.

    ``must_call``: it leaves no answer, by ``tool_choice`` or by the schema of the reply.
    """

    native: bool
    tools: Schemas
    question: str
    said: tuple[Said, ...]
    settings: tuple[Any, ...]
    must_call: bool = False


def read_request(request: Received, tasks: Sequence[str]) -> Conversation:
    """The conversation about the latest question that has one of the tasks in it; without tasks, about the first one.

    Raises:
        LookupError: No message asks any of the tasks.
    """
    body, messages = request.body or {}, request.messages
    asked = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    if tasks:
        asked = [at for at in asked if any(flat(task) in flat(_text(messages[at])) for task in tasks)][-1:]
    if not asked:
        raise LookupError(f"no message asks one of the {len(tasks)} tasks that this model has a plan for")
    begin = asked[0]
    options: Mapping[str, Any] = body.get("options") or body
    return Conversation(
        native=bool(body.get("tools")),
        tools=dict(_declared(body, messages)),
        question=_text(messages[begin]),
        said=tuple(_said(messages[begin + 1 :])),
        settings=(options.get("seed"), options.get("temperature")),
        must_call=body.get("tool_choice") == "required" or (bool(choices := _choices(body)) and not _ends(choices)),
    )


def flat(text: str) -> str:
    """The text with single blanks."""
    return " ".join(text.split())


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        return "".join(str(part.get("text", "")) for part in parts)
    return content or ""


def _said(messages: Sequence[Mapping[str, Any]]) -> list[Said]:
    found: list[Said] = []
    by_id: dict[str, Said] = {}
    for message in messages:
        if message.get("role") == "assistant":
            for ident, reply in _replies(message):
                found.append(reply)
                by_id |= {ident: reply} if ident else {}
        elif found:
            waiting = [one for one in found if one.name is not None and not one.heard]
            to = by_id.get(message.get("tool_call_id") or "") or (waiting or found[-1:])[0]
            to.heard.append(_text(message))
    return found


def _replies(message: Mapping[str, Any]) -> Iterator[tuple[str, Said]]:
    calls: list[dict[str, Any]] = message.get("tool_calls") or []
    for call in calls:
        function: dict[str, Any] = call.get("function") or {}
        args = function.get("arguments")
        yield call.get("id") or "", Said(str(function.get("name")), object_of(args) or {})
    if not calls:
        text = _text(message)
        decision = (object_of(text) or {}).get("tool")
        fields = cast("dict[str, Any]", decision) if isinstance(decision, dict) else {}
        called = "name" in fields
        yield "", Said(str(fields["name"]), object_of(fields.get("args")) or {}) if called else Said(None, {}, text)


def _declared(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in body.get("tools") or ():
        yield tool["function"]["name"], tool["function"].get("parameters") or {}
    choices = _choices(body)
    for choice in choices:
        call: dict[str, Any] | None = choice.get("properties", {}).get("tool", {}).get("properties")
        if call:
            yield call["name"]["const"], call.get("args") or {}
    if not choices and not body.get("tools"):
        prompt = "\n".join(_text(message) for message in messages if message.get("role") == "system")
        for name, parameters in _LISTED.findall(prompt):
            yield name, {"properties": {key: {} for key in _PARAMETER.findall(parameters)}}


def _choices(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a reply may be, in JSON mode where the server is sent a schema."""
    form: dict[str, Any] = body.get("response_format") or {}
    written: dict[str, Any] = form.get("json_schema") or {}
    wanted = object_of(body.get("format") or written.get("schema")) or {}
    return wanted.get("anyOf") or []


def _ends(choices: Sequence[Mapping[str, Any]]) -> bool:
    return any("final" in choice.get("properties", {}) for choice in choices)


def _read(text: str) -> tuple[dict[str, Any] | None, str]:
    """The object that a text begins with, and what stands behind it. One that was cut counts as an empty one."""
    if (match := _OUTPUT.match(text)) is not None:
        text = text[match.end() :]
    if not text.startswith("{"):
        return None, text
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return ({"error": ""} if text.startswith('{"error"') else {}), text
    return value, text[end:]
