"""From a reply to what goes over HTTP: status, headers and body, or the chunks of a stream."""

from dataclasses import dataclass, field
from itertools import accumulate

from micro_agent.testing.reply import Cut, Failure, Malformed, Reply, Verbatim, encode
from micro_agent.testing.wire import Chat, Wire

JSON_TYPE = "application/json"
BROKEN_JSON = b'{"choices": [{"message": {"role": "assistant", "content": "The answer i'


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response.

    ``chunks`` is the whole body in one piece, or, when ``streamed``, the pieces sent one by one. After ``cut_at`` bytes
    of them the connection is closed; ``None`` sends all.
    """

    status: int
    chunks: tuple[bytes, ...]
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict[str, str])
    streamed: bool = False
    cut_at: int | None = None

    @property
    def body(self) -> bytes:
        """The whole body, cut or not."""
        return b"".join(self.chunks)


def answer(reply: Reply, wire: Wire, chat: Chat) -> Answer:
    """What ``reply`` is on this wire; a `Hang` is the caller's."""
    streamed = wire.wants_stream(chat.body)
    match reply.fault:
        case Verbatim(body, status, content_type):
            return Answer(status, (body,), content_type)
        case Failure() as failure:
            return refusal(failure, wire)
        case Malformed() if streamed:
            return Answer(200, (wire.frame(BROKEN_JSON),), wire.STREAM_TYPE, streamed=True)
        case Malformed():
            return Answer(200, (BROKEN_JSON,))
        case fault:
            chunks = tuple(wire.events(reply, chat)) if streamed else (encode(wire.completion(reply, chat)),)
            cut_at = _cut_at(fault, chunks) if isinstance(fault, Cut) else None
            return Answer(200, chunks, wire.STREAM_TYPE if streamed else JSON_TYPE, streamed=streamed, cut_at=cut_at)


def refusal(failure: Failure, wire: Wire) -> Answer:
    """An error in the form of the wire."""
    body = failure.body
    if body is None:
        body = encode(wire.failure(failure.status, failure.message, failure.code))
    headers = {} if failure.retry_after is None else {"Retry-After": f"{failure.retry_after:g}"}
    return Answer(failure.status, (body,), headers=headers)


def _cut_at(cut: Cut, chunks: tuple[bytes, ...]) -> int:
    """The number of bytes that still arrive; whole chunks unless bytes are asked for or there is but one chunk."""
    ends = [0, *accumulate(map(len, chunks))]
    if cut.after_bytes is not None:
        return cut.after_bytes
    if cut.after_chunks is not None:
        return ends[min(cut.after_chunks, len(chunks) - 1)]
    return ends[-1] // 2 if len(chunks) == 1 else ends[len(chunks) // 2]
