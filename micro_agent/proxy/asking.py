"""What the proxy tells a model itself, where it is asked to: always behind all else, so that the prefix stays."""

import json
import tomllib
from dataclasses import replace
from importlib.resources import files
from typing import Any

from micro_agent.decoding import Final, ToolCalls
from micro_agent.proxy.engine import Proxy
from micro_agent.proxy.reading import Verdict, offered, read, unmet
from micro_agent.proxy.upstream import BrokenOff, Forwarded, Unreachable
from micro_agent.proxy.wires import Asked, Wire

AGAIN = 3
"""So many identical calls in a row, with one result, are spoken of."""
_WORDS = tomllib.loads(files("micro_agent.proxy").joinpath("words.toml").read_text("utf-8"))


def told_again(wire: Wire, request: Forwarded) -> Forwarded | None:
    """The request with a word behind it, where the model made one call again and again; ``None`` where it did not."""
    assert request.body is not None, "a request that nobody could read has no turns"
    tool, count = wire.again(request.body)
    if count < AGAIN:
        return None
    return _with(request, wire.continued(request.body, "", _WORDS["again"].format(tool=tool, count=count)))


async def asked_more(
    proxy: Proxy, wire: Wire, request: Forwarded, verdict: Verdict
) -> tuple[Verdict, dict[str, Any]] | None:
    """The calls that one question more came to, and the body they are in; ``None``: none was asked, or to no avail."""
    asked, body = request.asked, request.body
    assert asked is not None, "a request that nobody could read is relayed"
    assert body is not None, "as above"
    word = _question(proxy, asked, verdict)
    if word is None:
        return None
    once = {key: value for key, value in wire.continued(body, verdict.reply.text, word).items()
            if key not in ("stream", "stream_options")}  # fmt: skip
    try:
        response = await proxy.upstream.send(_with(request, once))
        try:
            raw = await response.whole()
        finally:
            response.close()
    except (Unreachable, BrokenOff):
        proxy.metrics.failed("upstream")
        return None
    return proxy.guarded(lambda: _taken(wire, asked, raw, verdict, embedded=proxy.options.embedded))


def _question(proxy: Proxy, asked: Asked, verdict: Verdict) -> str | None:
    """What to ask behind a reply, if anything."""
    options = proxy.options
    if options.ask_again and unmet(verdict, asked):
        named = asked.choice != "required"
        tool = asked.choice if named else "one of " + ", ".join(tool.name for tool in asked.tools)
        return _WORDS["call_wanted"].format(tool=tool)
    prose = isinstance(verdict.decision, Final) and verdict.decision.prose and asked.choice == "auto"
    return _WORDS["after_prose"] if options.ask_after_prose and prose and offered(asked) else None


def _taken(
    wire: Wire, asked: Asked, raw: bytes, first: Verdict, *, embedded: bool
) -> tuple[Verdict, dict[str, Any]] | None:
    body = json.loads(raw)
    reply = wire.reply(body)
    if reply is None:
        return None
    second = read(reply, asked, embedded=embedded)
    made = isinstance(second.decision, ToolCalls) and (second.kinds or reply.calls)
    if not made or unmet(second, asked):
        return None
    return Verdict(first.reply, second.decision, ("asked_again", *second.kinds)), body


def _with(request: Forwarded, body: dict[str, Any]) -> Forwarded:
    raw = json.dumps(body, ensure_ascii=False).encode(errors="backslashreplace")
    asked = request.asked and replace(request.asked, stream=bool(body.get("stream")))
    return replace(request, raw=raw, body=body, asked=asked)
