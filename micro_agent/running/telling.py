"""What a run tells while it is under way: its events, for whoever listens."""

from typing import cast

from micro_agent.effects import Act
from micro_agent.files.masking import mask_of
from micro_agent.run import Step
from micro_agent.running.observers import Observer, observers
from micro_agent.running.session import Session
from micro_agent.streaming import (
    AnswerFilter,
    AnswerText,
    CallBegins,
    Ended,
    OnEvent,
    Started,
    StepTaken,
    StreamEvent,
    WithCalls,
    WithoutText,
)
from micro_agent.streaming.masked_text import masked_events
from micro_agent.tools.callbacks import told


def tell(session: Session, emit: OnEvent | None) -> None:
    """Have a session tell its events, where somebody listens, and the observers of this process."""
    if emit is not None:
        _events(session, emit)
    for observer in observers():
        _watched(session, observer)


def _watched(session: Session, observer: Observer) -> None:
    """They are told first: who listens to events may be the last to need the process."""
    heard = session.on_start, session.on_step, session.on_end
    began, moved, ended = (told("an observer", one) for one in (observer.began, observer.moved, observer.ended))

    def step(taken: Step) -> None:
        moved(session.run)
        heard[1](taken)

    def start() -> None:
        began(session.run)
        heard[0]()

    def end() -> None:
        ended(session.run)
        heard[2]()

    session.on_start, session.on_step, session.on_end = start, step, end


def _events(session: Session, emit: OnEvent) -> None:
    """Answer text shows no secret: nobody could mask a piece of it afterwards."""
    run, planner, with_text = session.run, session.planner, not isinstance(emit, WithoutText)
    with_calls = isinstance(emit, WithCalls)
    emit = told("on_event", masked_events(emit, session.store.mask() if session.store else mask_of()))
    answer = AnswerFilter(lambda: planner.mode, lambda text: emit(AnswerText(text)))
    if with_text:
        session.answer_filter = answer

    def end() -> None:
        if session.answer_filter is not None:
            answer.finish(run.answer)
        emit(Ended(run))

    heard = session.on_step

    def step(taken: Step) -> None:
        heard(taken)
        emit(StepTaken(taken))

    def begin(effect: Act) -> None:
        ready = effect.ready
        emit(cast("StreamEvent", CallBegins(run, effect.call, ready.call_id, ready.tool.name, ready.args)))

    if with_calls:
        session.at_once.on_begin = begin
    session.on_start, session.on_step, session.on_end = (lambda: emit(Started(run.id))), step, end
