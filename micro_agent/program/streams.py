# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The text of the answer for the listeners of ``dspy.streamify``, in both modes.

DSPy's listeners read the wire of DSPy's adapters, which an agent does not speak. So its chunks are read here, on their
way to the stream, and what is answer text goes on as the listeners would have said it.
"""

from collections.abc import Iterator
from typing import Any

import dspy
from dspy.streaming import StreamResponse

from micro_agent.dspy_internals import sync_send_to_stream
from micro_agent.files.masking import mask_of
from micro_agent.run import Run
from micro_agent.running.session import Session, adrive, drive
from micro_agent.streaming import AnswerFilter
from micro_agent.streaming.masked_text import MaskedText

FIELD = "answer"
"""The output field that is listened to."""


def driven(session: Session) -> Run:
    """`drive`; whoever listens to the answer hears it."""
    if not (listeners := _listeners(session)):
        return drive(session)
    heard = _Heard(session, listeners)
    with dspy.context(send_stream=heard):
        run = drive(session)
    for said in heard.rest(run):
        sync_send_to_stream(heard.stream, said)
    return run


async def adriven(session: Session) -> Run:
    """`driven`, awaited."""
    if not (listeners := _listeners(session)):
        return await adrive(session)
    heard = _Heard(session, listeners)
    with dspy.context(send_stream=heard):
        run = await adrive(session)
    for said in heard.rest(run):
        await heard.stream.send(said)
    return run


def _listeners(session: Session) -> list[Any]:
    listeners: list[Any] = (dspy.settings.send_stream and dspy.settings.stream_listeners) or []
    return [one for one in listeners if one.predict is session.planner.predict and one.signature_field_name == FIELD]


class _Chunks(AnswerFilter):
    """Takes text from the chunks alone: an engine may tell it in another way as well."""

    def feed(self, text: str) -> bool:
        """Leave it."""
        return False

    def take(self, text: str) -> None:
        """Take the next piece of a reply."""
        super().feed(text)


class _Heard:
    """Stands where DSPy has its stream while one run is under way, and passes on what is not of its planner."""

    def __init__(self, session: Session, listeners: list[Any]) -> None:
        planner = session.planner
        self.stream: Any = dspy.settings.send_stream
        self._listeners, self._predict, self._said = listeners, id(planner.predict), list[str]()
        self._from_text = planner.outputs.submit is None
        self._text = MaskedText(self._said.append, session.store.mask() if session.store else mask_of())
        self._answer = session.answer_filter = _Chunks(lambda: planner.mode, self._text.feed)

    async def send(self, message: Any) -> None:
        """Take what somebody has for the stream."""
        if getattr(message, "predict_id", None) != self._predict:
            return await self.stream.send(message)
        if self._from_text:
            self._answer.take(message.choices[0].delta.content or "")
        for said in self._responses():
            await self.stream.send(said)
        return None

    def rest(self, run: Run) -> Iterator[StreamResponse]:
        """What was held back of the answer, and that it is over; nothing if nothing was said at all."""
        self._answer.finish(run.answer)
        self._text.finish()
        yield from self._responses(over=True)

    def _responses(self, *, over: bool = False) -> Iterator[StreamResponse]:
        text = "".join(self._said)
        self._said.clear()
        for one in self._listeners:
            if text or (over and one.stream_start):
                one.stream_start, one.stream_end = True, over  # so that DSPy knows that somebody has heard something
                yield StreamResponse(one.predict_name, FIELD, text, is_last_chunk=over)
