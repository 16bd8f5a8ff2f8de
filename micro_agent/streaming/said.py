"""What a run's answer text comes to for somebody who has read it as it came."""

from collections.abc import Callable

from micro_agent.run import Step
from micro_agent.run.finishing import stands
from micro_agent.run.making import says_text
from micro_agent.streaming import AnswerText, CallBegins, Ended, StepTaken, StreamEvent


def breaks_off(step: Step) -> bool:
    """Whether a step ends the text before it. One that says that it is an answer, or no call, does not."""
    return not stands(step) and not says_text(step)


class SaidSoFar:
    """Turns events into text to add: that of the answer as it comes, at the end what the answer has beyond it.

    Args:
        between: What stands between a text that was broken off and what comes after it.
    """

    def __init__(self, between: str = "\n") -> None:
        self._between, self._said = between, ""

    @property
    def is_open(self) -> bool:
        """Whether a text was said that nothing has ended."""
        return bool(self._said)

    def take(self, event: StreamEvent | CallBegins, masked: Callable[[str], str]) -> str:
        """What is to be added. ``masked``: an answer as the text of it was shown."""
        if isinstance(event, AnswerText):
            self._said += event.text
            return event.text
        if isinstance(event, StepTaken):
            return self._broken_off() if breaks_off(event.step) else ""
        if not isinstance(event, Ended) or event.run.answer is None:
            return ""
        answer = masked(event.run.answer)
        before = "" if answer.startswith(self._said) else self._broken_off()
        rest = answer.removeprefix(self._said)
        self._said = answer
        return before + rest

    def _broken_off(self) -> str:
        said, self._said = self._said, ""
        return self._between if said else ""
