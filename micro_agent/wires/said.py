"""What is said to a model of one step, on either wire."""

from typing import Any

from micro_agent.context.views import View
from micro_agent.models.reply import mended
from micro_agent.run import (
    CONTEXT_TRIMMED,
    EDITED,
    MALFORMED_DECISION,
    MARKERS,
    NO_ACTION,
    POLICY_VIOLATION,
    REPETITION,
    SELF_CORRECTION,
    VALIDATION_ERROR,
    WARNING,
)
from micro_agent.text.encoding import as_json, encodable

NO_REPLY = "(no reply)"
_SAYS = {
    POLICY_VIOLATION: "Policy: ",
    MALFORMED_DECISION: "Format: ",
    NO_ACTION: "Format: ",
    VALIDATION_ERROR: "Format: ",
    WARNING: "Note: ",
    REPETITION: "Note: ",
    SELF_CORRECTION: "Note: ",
    CONTEXT_TRIMMED: "Note: ",
    EDITED: "Note: ",
}


def asked(step: View) -> tuple[str, dict[str, Any]]:
    """The call behind a step, as JSON can carry it: a refused one stands in the arguments of its marker."""
    name, args = (
        (step["args"]["tool"], step["args"]["args"]) if step["tool"] in MARKERS else (step["tool"], step["args"])
    )
    return encodable(name), mended(args)


def shown(step: View) -> str:
    """What the model reads of a step. Only words of the loop have its prefix, not the results of calls."""
    said = step["observation"]
    text = encodable(_SAYS.get(step["tool"], "") + said) if isinstance(said, str) else as_json(said)
    return f"{text}\n{step['state']}" if step.get("state") else text
