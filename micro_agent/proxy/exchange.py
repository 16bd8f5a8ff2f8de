"""One request: it goes to the upstream, and what comes back goes to the client, mended where it has to be."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

from micro_agent.decoding import Final, ModelReply, ToolCalls
from micro_agent.proxy import records
from micro_agent.proxy.asking import asked_more, told_again
from micro_agent.proxy.engine import Proxy
from micro_agent.proxy.events import MOST, Events, comment
from micro_agent.proxy.holding import Holder
from micro_agent.proxy.mending import REPAIRS, Mending
from micro_agent.proxy.reading import Verdict, read, read_refused
from micro_agent.proxy.refusals import said_in
from micro_agent.proxy.sending import Sender
from micro_agent.proxy.upstream import Answer, BrokenOff, Forwarded, Unreachable
from micro_agent.proxy.wires import Wire
from micro_agent.run import Run
from micro_agent.text.encoding import object_of

ALIVE_S = 1.0
"""Seconds without a byte after which a stream gets a comment, while the client waits for what is being made."""
_NO_REPLY = (401, 403, 429)
"""Statuses by which a server tells the client something of its own, whatever else stands in the body."""
RUN = b"x-micro-agent-run"
"""The header with the id of the record."""


class Exchange:
    """One request of a client on a wire."""

    def __init__(self, proxy: Proxy, wire: Wire, request: Forwarded, sender: Sender) -> None:
        self._proxy, self._wire, self._sender = proxy, wire, sender
        self._request = self._read(request)
        self._since = perf_counter()
        self._mending: Mending | None = None
        self._run: Run | None = None
        if proxy.recorder is not None:
            self._run = records.begun(self._request, proxy.upstream)
            sender.extra.append((RUN, self._run.id.encode()))

    async def answer(self) -> None:
        """Answer it."""
        proxy, asked = self._proxy, self._request.asked
        if (why := proxy.guarded(lambda: proxy.upstream.overlong(self._request))) is not None:
            return await self._refuse("context_length", 400, "context_length_exceeded", why)
        if asked is not None and asked.stream:
            self._write()
            self._sender.keep_alive(ALIVE_S)
        try:
            response = await proxy.upstream.send(self._request)
        except Unreachable as error:
            return await self._refuse("upstream", 502, "upstream_unreachable", str(error))
        try:
            if asked is None or response.header(b"content-encoding"):
                if self._sender.status is not None:
                    told = (
                        f"{proxy.upstream.url} compresses its replies, though it was not asked to: configure it not to"
                    )
                    return await self._refuse("upstream", 502, "upstream_compressed", told)
                await relay(response, self._sender, proxy)
                self._unread()
            elif response.header(b"content-type").lower().startswith(b"text/event-stream"):
                await self._stream(response)
            else:
                await self._whole(response)
        finally:
            response.close()

    def left(self) -> None:
        """The client went away before the end."""
        self._proxy.metrics.failed("left")
        if self._mending is not None:
            self._replied(self._mending.verdict(), self._mending.told())
        self._close("client_left", "the client went away before the end of the reply")

    def _read(self, request: Forwarded) -> Forwarded:
        """The request with what is in it, and with a word of ours where that is asked for."""
        try:
            body = json.loads(request.raw)
        except (ValueError, RecursionError):
            return request
        if not isinstance(body, dict):
            return request
        known = cast("dict[str, Any]", body)
        asked = self._proxy.guarded(lambda: self._wire.asked(known))
        request = replace(request, body=known, asked=asked)
        if not self._proxy.options.tell_again:
            return request
        told = self._proxy.guarded(lambda: told_again(self._wire, request))
        if told is None:
            return request
        self._proxy.metrics.repaired(["told_again"])
        self._sender.extra.append((REPAIRS.encode(), b"told_again"))
        return told

    async def _stream(self, response: Answer) -> None:
        """A stream of events: what may be a call waits, all else goes on at once."""
        assert self._request.asked is not None, "a request that nobody could read is relayed"
        proxy, sender, events = self._proxy, self._sender, Events()
        embedded = proxy.options.embedded
        mending = Mending(self._wire, self._request.asked, embedded=embedded, failed=proxy.misread)
        self._mending = mending
        await sender.start(response)
        try:
            async for data in response.pieces:
                out = b"".join(map(mending.take, events.feed(data)))
                sender.waits = mending.holds
                if out:
                    await sender.send(out)
        except BrokenOff as error:
            await self._broken(error, mending, mending.rest() + events.rest())
            return
        sender.waits = True
        verdict = await self._decided(mending.verdict(), mending.told())
        calls = verdict.mends
        await sender.end((mending.rest() if calls is None else mending.mended(calls, verdict)) + events.rest())

    async def _whole(self, response: Answer) -> None:
        """A body in one piece."""
        proxy, status = self._proxy, response.status
        parts, size = list[bytes](), 0
        try:
            async for piece in response.pieces:
                parts.append(piece)
                size += len(piece)
                if size > MOST:
                    self._unread()
                    return await relay(replace(response, pieces=_after(parts, response.pieces)), self._sender, proxy)
        except BrokenOff as error:
            told = f"{proxy.upstream.url} broke off in the middle of its reply: {error}"
            return await self._refuse("cut_off", 502, "upstream_cut_off", told)
        raw = b"".join(parts)
        found = proxy.guarded(lambda: self._verdict(status, raw))
        if found is None:
            if status >= 400:
                proxy.metrics.failed("refused")
                self._close(f"http_{status}", f"the upstream refused with the HTTP status {status}")
            else:
                self._unread()
            return await self._sender.whole(response, raw)
        body, verdict = found
        verdict = await self._decided(verdict, body)
        if status >= 400 and self._request.asked is not None and self._request.asked.stream:
            said = proxy.guarded(lambda: self._events(verdict))
            return await (self._sender.whole(response, raw) if said is None else self._sender.events(said))
        out = proxy.guarded(lambda: _raw(self._mended(body, verdict))) if verdict.kinds else None
        if out is None:
            return await self._sender.whole(response, raw)
        self._sender.extra.append((REPAIRS.encode(), ", ".join(verdict.kinds).encode()))
        return await self._sender.whole(response, out, status=200)

    def _verdict(self, status: int, raw: bytes) -> tuple[dict[str, Any], Verdict] | None:
        """The body of a response and what it comes to; ``None`` where it is no reply, or an error without one."""
        assert self._request.asked is not None, "as above"
        embedded = self._proxy.options.embedded
        if status < 400:
            body = object_of(raw.decode(errors="replace"))
            reply = None if body is None else self._wire.reply(body)
            if reply is None or body is None:
                return None
            return body, read(reply, self._request.asked, embedded=embedded, told=body)
        said = said_in(raw) if status not in _NO_REPLY else None
        if not said:
            return None
        verdict = read_refused(said, self._request.asked, embedded=embedded)
        if isinstance(verdict.decision, Final) and verdict.decision.answer:
            verdict = replace(verdict, kinds=("parser_error",))
        return (self._wire.begun(self._request.asked.model), verdict) if verdict.kinds else None

    def _mended(self, body: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
        """The body with what was mended."""
        calls, reply = verdict.mends, verdict.reply
        if calls is None:
            return self._wire.mended(body, ToolCalls([]), reply.text)
        if reply.calls or "asked_again" in verdict.kinds:
            return self._wire.mended(body, calls, reply.text)
        assert self._request.asked is not None, "as above"
        holder = Holder([tool.name for tool in self._request.asked.tools], embedded=self._proxy.options.embedded)
        holder.feed(reply.text)
        return self._wire.mended(body, calls, holder.left() if holder.holds else reply.text)

    def _events(self, verdict: Verdict) -> bytes:
        """The stream that a reply is which the server could not read."""
        assert self._request.asked is not None, "as above"
        reader, calls, left = self._wire.reader(self._request.asked.model), verdict.mends, verdict.reply.text
        told = comment(f"{REPAIRS} {', '.join(verdict.kinds)}")
        if calls is None:
            return reader.text_event(left) + told + reader.calls_and_end(ToolCalls([]), left)
        return told + reader.calls_and_end(calls, "")

    async def _decided(self, verdict: Verdict, told: Any) -> Verdict:
        """What counts in the end: the reply, or what a further question came to. It is counted and recorded."""
        self._replied(verdict, told)
        more = await asked_more(self._proxy, self._wire, self._request, verdict)
        if more is not None:
            verdict, body = more
            self._replied(verdict, body)
        self._proxy.metrics.repaired(verdict.kinds)
        if self._run is not None:
            records.ended(self._run, verdict)
            self._write()
        return verdict

    async def _broken(self, error: BrokenOff, mending: Mending, rest: bytes) -> None:
        """The upstream broke off. So does the proxy: an error in words would be the end of a reply to some clients."""
        self._proxy.metrics.failed("cut_off")
        self._replied(mending.verdict(), mending.told())
        self._close("cut_off", f"the upstream broke off: {error}")
        self._sender.stop()
        await self._sender.send(rest)

    async def _refuse(self, counted: str, status: int, code: str, message: str) -> None:
        self._proxy.metrics.failed(counted)
        self._close(code, message)
        await self._sender.refuse(status, self._wire.error(status, code, message))

    def _replied(self, verdict: Verdict, told: Any) -> None:
        if (run := self._run) is not None:
            self._proxy.guarded(lambda: records.replied(run, self._request, verdict, told, self._since))

    def _close(self, code: str, message: str) -> None:
        if self._run is not None:
            records.failed(self._run, code, message)
            self._write()

    def _unread(self) -> None:
        """What went through could not be read, or was not to be."""
        if self._run is not None:
            records.ended(self._run, Verdict(ModelReply()))
            self._write()

    def _write(self) -> None:
        """Have the record written as it is: by the end of a stream another one follows, of the same run."""
        if self._run is not None and self._proxy.recorder is not None:
            self._proxy.recorder.write(self._run)


def _raw(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode(errors="backslashreplace")  # half a character is an escape


async def _after(parts: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What came already, then what comes."""
    yield b"".join(parts)
    async for piece in rest:
        yield piece


async def relay(response: Answer, sender: Sender, proxy: Proxy) -> None:
    """Pass a response on as it comes, unread."""
    sender.stop()  # nothing of ours may stand in it
    await sender.start(response)
    try:
        async for data in response.pieces:
            await sender.send(data)
    except BrokenOff:
        proxy.metrics.failed("cut_off")
        return
    await sender.end()
