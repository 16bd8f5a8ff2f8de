"""Arguments against a tool's schema: accepted as they are, accepted after coercion, or refused with every fault."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from micro_agent.text.numbers import plain
from micro_agent.tools.coerce import WRAPPERS, coerce
from micro_agent.tools.faults import UNCHECKED, Fault, Faults, find_faults
from micro_agent.tools.form import call_form
from micro_agent.tools.keywords import Bounded
from micro_agent.tools.names import closest
from micro_agent.tools.tool import Tool

__all__ = ["Accepted", "Fault", "Faults", "check", "refusal", "without_extras"]


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
        return Accepted(plain(args))
    if found == [UNCHECKED]:
        return Faults(found)
    try:
        with Bounded():
            mended, coercions = coerce(tool.schema, args)
            fits = bool(coercions) and not find_faults(tool.schema, mended)
    except Exception:  # noqa: BLE001 jsonschema fails on some numbers and schemas; what it cannot judge is refused
        return Faults(found)
    return Accepted(plain(mended), coercions) if fits else Faults(found)


def without_extras(
    tool: Tool, args: dict[str, Any], faults: Faults, named: Callable[[str, Any], bool]
) -> Accepted | None:
    """``args`` without those that the tool does not have, if the rest then fits; ``None`` where they may be meant.

    They are said on purpose where one looks like an argument that is not given, or holds the arguments once more, or
    where nothing would be left for a tool that takes arguments.

    Args:
        tool: The tool that is called.
        args: What the model gave.
        faults: What `check` found wrong with them.
        named: Whether the model was told before that the tool does not have an argument, when it gave this value.
    """
    extra = [fault.path for fault in faults.faults if fault.extra and fault.path in args]
    left = {key: value for key, value in args.items() if key not in extra}
    absent = [name for name in tool.schema.names if name not in left]
    if not extra or not all(named(key, args[key]) for key in extra) or (absent and not left):
        return None
    if any(key in WRAPPERS or closest(absent, key) for key in extra):
        return None
    checked = check(tool, left)
    dropped = [{"path": key, "from": args[key], "to": None, "kind": "extra_argument"} for key in extra]
    return Accepted(checked.args, [*dropped, *checked.coercions]) if isinstance(checked, Accepted) else None


def refusal(tool: Tool, faults: Faults, *, native: bool = True) -> dict[str, Any]:
    """The observation for arguments that do not fit: all faults in words and as data, a right call, and the schema."""
    return {
        "error": "VALIDATION_FAILED",
        "message": faults.message,
        "expected": call_form(tool.name, tool.parameters, native=native),
        "faults": [{"path": fault.path, "message": fault.message} for fault in faults.faults],
        "schema": tool.schema.inlined,
    }
