"""What a run tells while it is under way: its events, for whoever listens."""

from micro_agent.files.masking import mask_of
from micro_agent.run import Step
from micro_agent.running.session import Session
from micro_agent.streaming import AnswerFilter, AnswerText, Ended, OnEvent, Started, StepTaken, WithoutText
from micro_agent.streaming.masked_text import masked_events
from micro_agent.tools.callbacks import told


def tell(session: Session, emit: OnEvent) -> None:
    """Have a session tell its events. Answer text shows no secret: nobody could mask a piece of it afterwards."""
    run, planner, with_text = session.run, session.planner, not isinstance(emit, WithoutText)
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

    session.on_start, session.on_step, session.on_end = (lambda: emit(Started(run.id))), step, end
