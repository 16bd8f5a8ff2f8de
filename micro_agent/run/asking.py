"""A question to the model that it answers with yes or no."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """What is asked about the model's last reply, in ``text``. The answer is ``{key: true}`` or ``{key: false}``.

    It becomes a step named ``marker``, with ``told`` among its arguments. ``about`` says in a sentence what is asked.
    """

    key: str
    text: str
    marker: str
    about: str
    told: dict[str, Any]
    comes_of: Mapping[bool | None, str]
    """The observation of the step, after yes, no and neither."""
    unasked: str
    """The observation where the model could not be asked."""
    loose: tuple[bool | None, ...] = ()
    """After these answers nothing follows in the run: the step belongs to no reply, and leaves ``told`` out."""
    a_call_says: bool | None = None
    """What a call says that comes in the place of an answer. It is not made."""
    again: bool = False
    """Whether it is asked a second time, since the first answer was neither."""

    @property
    def format(self) -> dict[str, Any]:
        """The schema that its reply is held to, where the server can."""
        schema = {
            "type": "object",
            "properties": {self.key: {"type": "boolean"}},
            "required": [self.key],
            "additionalProperties": False,
        }
        return {"type": "json_schema", "name": self.key, "schema": schema}
