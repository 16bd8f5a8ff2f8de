"""What the scripted model answers to a request: the request alone and what the same conversation had before decide.

The name of the model says which defect is played and how: ``weak:ID:MODE:NONCE``. ``once``: the first reply has the
defect, all later ones are good. ``sticky``: each call comes with it. ``raw``: the first point of the task, always the
same bytes. ``pace:N:MS`` is a sentence of N pieces with so many milliseconds before each.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from benchmarks.proxy_defects.said import Said
from benchmarks.proxy_defects.sets import Defect, good_call, load
from benchmarks.proxy_defects.task import QUESTION, SYSTEM

Body = dict[str, Any]
MOST_REQUESTS = 12
_CODE = re.compile(r"R-[0-9a-f]{6}")


@dataclass
class Conversation:
    """What came under one nonce: each request as ``(path, raw body)``."""

    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    keys: list[str] = field(default_factory=list[str])
    gone: int = 0


class Scripted:
    """The model. Its server asks it one request at a time."""

    def __init__(self) -> None:
        self._defects = {defect.id: defect for defect in load()}
        self.conversations: dict[str, Conversation] = {}

    def answer(self, path: str, body: Body, raw: str, key: str) -> tuple[Said, int]:
        """The reply, and its serial number in the conversation."""
        model = str(body.get("model", ""))
        conversation = self.conversations.setdefault(model, Conversation())
        conversation.requests.append((path, raw))
        conversation.keys.append(key)
        serial = len(conversation.requests)
        if serial > MOST_REQUESTS:
            return Said(text="I do not know what to do."), serial
        _, name, mode, _ = model.split(":")
        defect = self._defects[name]
        if mode == "raw":
            return defect.said(0), 1
        return self._said(defect, mode, serial, body, raw), serial

    def _said(self, defect: Defect, mode: str, serial: int, body: Body, raw: str) -> Said:
        if found := _CODE.search(raw):
            return Said(text=f"It is reserved. The code is {found[0]}.")
        stage = 1 if "P-77" in raw else 0
        due = defect.due(stage)
        if defect.kind in ("asked", "choice"):
            if (constraint := schema_of(body)) is not None:
                return Said(text=json.dumps(instance(constraint, *due[0])))
            if asked_again(body):
                return good_call(due)
        if mode == "once" and serial > 1:
            return good_call(due)
        return defect.said(stage)


def asked_again(body: Body) -> bool:
    """Whether the request ends with words of a user that are not the question of the task."""
    items: Any = body.get("messages", body.get("input"))
    last: Body = items[-1]
    if last.get("role") not in ("user", "system", "developer"):
        return False
    text = json.dumps(last, ensure_ascii=False)
    return QUESTION not in text and SYSTEM not in text and "tool_result" not in text


def schema_of(body: Body) -> Any:
    """The schema that the reply is held to, in the words of the servers that hold it; ``None`` without one."""
    empty: Body = {}
    form: Body = body.get("response_format") or (body.get("text") or empty).get("format") or empty
    if form.get("type") == "json_schema":
        return form.get("json_schema", form).get("schema")
    return body.get("guided_json") or (body.get("structured_outputs") or empty).get("json")


def instance(schema: Any, name: str, args: Body) -> Any:
    """A value of the schema that means this call, as a model under a grammar would write it."""
    for word in ("anyOf", "oneOf"):
        if word in schema:
            options = schema[word]
            return instance(next((o for o in options if json.dumps(name) in json.dumps(o)), options[0]), name, args)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return name if name in schema["enum"] else schema["enum"][0]
    if "properties" in schema:
        if set(schema["properties"]) == set(args):
            return args
        return {key: instance(value, name, args) for key, value in schema["properties"].items()}
    if schema.get("type") == "array":
        return [instance(schema.get("items", {}), name, args)]
    return {"string": name, "object": args}.get(schema.get("type"), args)
