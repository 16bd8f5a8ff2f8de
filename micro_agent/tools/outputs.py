"""What an answer has to hold: one text as a model says it, or outputs that are given as the arguments of a call are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from micro_agent.tools.arguments import Accepted, Faults, check
from micro_agent.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a run.

    Attributes:
        text: The output that is the run's answer; ``None`` where none of them is a text, or several are.
        submit: The tool that takes the outputs as its arguments and ends the run; it is never run like another.
            ``None``: the answer is what the model says.
    """

    text: str | None = "answer"
    submit: Tool | None = None

    def record(self) -> dict[str, Any] | None:
        """What a run's record keeps of them; ``None`` of a plain answer."""
        if self.submit is None:
            return None if self.text == "answer" else {"text": self.text}
        told = {"name": self.submit.name, "description": self.submit.description, "parameters": self.submit.parameters}
        return {"text": self.text, "submit": told}

    @classmethod
    def recorded(cls, record: Mapping[str, Any] | None) -> Self:
        """The outputs of a recorded run. The types of its signature are not on record, so its schema alone judges."""
        if record is None:
            return cls()
        told = record.get("submit")
        return cls(record["text"], Tool(**told, handler=_as_given, timeout_s=None) if told else None)


PLAIN = Outputs()
"""One text, as the model says it."""


def check_outputs(submit: Tool, args: dict[str, Any]) -> Accepted | Faults:
    """Whether ``args`` are the outputs, after coercion if need be: as JSON, with defaults, or all that is wrong.

    Beside the schema the types of the signature judge, which know what a schema does not say: dates, validators.
    """
    checked = check(submit, args)
    given = checked.args if isinstance(checked, Accepted) else args
    judged: Accepted | Faults = submit.handler(**given)
    if isinstance(checked, Faults) and isinstance(judged, Faults):
        told = [fault.path for fault in checked.faults]
        more = [fault for fault in judged.faults if not any(_related(fault.path, path) for path in told)]
        return Faults([*checked.faults, *more])
    if isinstance(checked, Accepted) and isinstance(judged, Accepted):
        return Accepted(judged.args, [*checked.coercions, *judged.coercions])
    return checked if isinstance(checked, Faults) else judged


def _as_given(**given: Any) -> Accepted:
    return Accepted(given)


def _related(one: str, other: str) -> bool:
    """Whether a place is another one, or in it, or around it."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and long[len(short) :][:1] in ("", ".", "[")
