"""Whether a reply goes through byte for byte: each good one and each that nothing may be done to, on each wire."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchmarks.proxy_defects import chat, messages, responses
from benchmarks.proxy_defects.sets import Defect
from benchmarks.proxy_defects.task import QUESTION, SYSTEM, TOOLS
from benchmarks.proxy_defects.upstream import log

KEY = "Bearer sk-of-the-user"
PATHS = {"chat": chat.PATH, "responses": responses.PATH, "messages": messages.PATH}


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer as it came."""

    status: int
    content_type: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """One exchange, made directly and through the proxy; ``wrong`` says what differs."""

    name: str
    wrong: str | None


def asked(wire: str, model: str, *, streamed: bool, tools: bool) -> dict[str, Any]:
    """A request of the task, with a field that no server knows."""
    body: dict[str, Any] = {"model": model, "stream": streamed, "x_unknown": {"kept": [1.50, None, "é"]}}
    if wire == "chat":
        body["messages"] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        told: list[Any] = [
            {"type": "function", "function": {"name": n, "description": d, "parameters": p}} for n, d, p in TOOLS
        ]
        body |= {"stream_options": {"include_usage": True}} if streamed else {}
    elif wire == "responses":
        body |= {"input": [{"role": "user", "content": QUESTION}], "instructions": SYSTEM}
        told = [{"type": "function", "name": n, "description": d, "parameters": p} for n, d, p in TOOLS]
    else:
        body |= {"max_tokens": 500, "system": SYSTEM, "messages": [{"role": "user", "content": QUESTION}]}
        told = [{"name": n, "description": d, "input_schema": p} for n, d, p in TOOLS]
    return body | ({"tools": told} if tools else {})


def post(url: str, path: str, body: bytes) -> Heard:
    """One request on a connection of its own."""
    at = urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=30)
    connection.request("POST", path, body, {"Content-Type": "application/json", "Authorization": KEY})
    answer = connection.getresponse()
    heard = Heard(answer.status, answer.headers["Content-Type"], answer.read())
    connection.close()
    return heard


def checks(defects: list[Defect], upstream: str, proxy: str) -> Iterator[Check]:
    """Each good reply and each trap with tools; each call in a text without any."""
    for defect in defects:
        tools = defect.kind in ("good", "trap")
        if not tools and not (defect.kind == "mend" and "text" in defect.entry and "status" not in defect.entry):
            continue
        for wire in defect.wires:
            for streamed in (False, True):
                name = f"{defect.id} {wire} {'streamed' if streamed else 'whole'}{'' if tools else ' no tools'}"
                yield Check(name, _difference(defect, wire, upstream, proxy, streamed=streamed, tools=tools))


def _difference(defect: Defect, wire: str, upstream: str, proxy: str, *, streamed: bool, tools: bool) -> str | None:
    model = f"weak:{defect.id}:raw:{wire}-{streamed}-{tools}"
    body = json.dumps(asked(wire, model, streamed=streamed, tools=tools), separators=(", ", ":")).encode()
    here, there = post(upstream, PATHS[wire], body), post(proxy, PATHS[wire], body)
    told = log(upstream, model)
    if len(told["requests"]) != 2:
        return f"{len(told['requests']) - 1} requests instead of 1"
    if told["requests"][0] != told["requests"][1]:
        return f"the request differs: {told['requests'][1]}"
    if told["keys"][0] != told["keys"][1]:
        return "the key does not pass"
    return None if here == there else f"{_first(here, there)}"


def _first(here: Heard, there: Heard) -> str:
    if (here.status, here.content_type) != (there.status, there.content_type):
        return f"{there.status} {there.content_type} instead of {here.status} {here.content_type}"
    pairs = zip(here.body, there.body, strict=False)
    at = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(here.body), len(there.body)))
    return f"at byte {at}: {there.body[at : at + 60]!r} instead of {here.body[at : at + 60]!r}"
