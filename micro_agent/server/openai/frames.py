"""The frames of a stream on OpenAI's wires: what both of them do alike while a run is under way."""

from collections.abc import AsyncIterator
from time import time
from typing import Any

from fastapi.sse import format_sse_event

from micro_agent.server.openai.turns import Turn
from micro_agent.server.runs import ShuttingDown
from micro_agent.server.sse import HEARTBEAT_S
from micro_agent.streaming import Ended, StreamEvent


def framed(turn: Turn, data: Any, event: str | None = None) -> bytes:
    """One event as it goes over the wire, secrets masked."""
    return format_sse_event(event=event, data_str=turn.store.masked(data).decode().rstrip("\n"))


def now() -> int:
    """The time in seconds since 1970, as OpenAI's API tells it."""
    return int(time())


async def events_of(turn: Turn) -> AsyncIterator[StreamEvent | ShuttingDown | None]:
    """The events of a turn; ``None`` when there was none for a while. `Ended` or the end of the server is the last."""
    if turn.live is None:
        yield Ended(await turn.ended())
        return
    log, after = turn.live.log, turn.after
    while not log.all_seen(after):
        try:
            news = await log.news(after, within_s=HEARTBEAT_S)
        except TimeoutError:
            yield None
            continue
        except ShuttingDown as error:
            yield error
            return
        for number, event in news:
            after = number
            yield event
