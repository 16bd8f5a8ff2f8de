"""Arguments against a tool's schema: accepted as they are, accepted after coercion, or refused with every fault."""

from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.tools.coerce import coerce
from micro_agent.tools.faults import UNCHECKED, Fault, Faults, find_faults
from micro_agent.tools.form import call_form
from micro_agent.tools.keywords import Bounded
from micro_agent.tools.tool import Tool

__all__ = ["Accepted", "Fault", "Faults", "check", "refusal"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """Arguments that fit the schema, and what was done to them for it (``{"path", "from", "to", "kind"}`` each)."""

    args: dict[str, Any]
    coercions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def check(tool: Tool, args: object) -> Accepted | Faults:
    """Whether ``args`` fit the tool, after coercion if need be.

    Arguments that are valid come back as they are. Otherwise what the schema makes unambiguous is coerced, all of it or
    nothing, and the result validated again; when that fails, the faults are those of the arguments as given.

    JSON Schema lets unnamed properties pass when the schema does not mention ``additionalProperties``. Here they are
    faults: the handler gets its arguments as keywords and would fail on one it does not have, models invent them, and a
    tool that means to take any says so (``"additionalProperties": true``).

    Args:
        tool: The tool that is called.
        args: What the model gave, any JSON value. Nothing raises, whatever it is.
    """
    found = find_faults(tool.schema, args)
    if not found:
        return Accepted(cast("dict[str, Any]", args))
    if found == [UNCHECKED]:
        return Faults(found)
    try:
        with Bounded():
            mended, coercions = coerce(tool.schema, args)
            fits = bool(coercions) and not find_faults(tool.schema, mended)
    except Exception:  # noqa: BLE001 jsonschema fails on some numbers and schemas; what it cannot judge is refused
        return Faults(found)
    return Accepted(mended, coercions) if fits else Faults(found)


def refusal(tool: Tool, faults: Faults, *, native: bool = True) -> dict[str, Any]:
    """The observation for arguments that do not fit: all faults in words and as data, a right call, and the schema."""
    return {
        "error": "VALIDATION_FAILED",
        "message": faults.message,
        "expected": call_form(tool.name, tool.parameters, native=native),
        "faults": [{"path": fault.path, "message": fault.message} for fault in faults.faults],
        "schema": tool.schema.inlined,
    }
