"""The built-in tool ``now``: date and time in a time zone."""

import difflib
from datetime import UTC, datetime, tzinfo
from typing import Any

from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")  # whatever the locale


def _now(timezone: str = "utc") -> dict[str, Any]:
    name, zone = _zone(timezone)
    moment = datetime.now(zone) if zone else datetime.now().astimezone()
    return {
        "iso": moment.isoformat(timespec="seconds"),
        "timezone": name or moment.tzname(),
        "date": moment.date().isoformat(),
        "time": moment.time().isoformat(timespec="seconds"),
        "weekday": _WEEKDAYS[moment.weekday()],
        "unix": int(moment.timestamp()),
    }


def _zone(timezone: str) -> tuple[str | None, tzinfo | None]:
    """The name and the zone; both ``None`` for the local one."""
    wanted = timezone.strip()
    if wanted.casefold() in ("utc", "z", ""):
        return "UTC", UTC
    if wanted.casefold() == "local":
        return None, None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        return wanted, ZoneInfo(wanted)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # no such zone; no legal key; a folder of zones
        known = available_timezones()
    if not known:
        message = "this system has no time zone data; use 'utc' or 'local' (a person can install the package tzdata)"
        raise ToolError("TIMEZONE_DATA_MISSING", message)
    name = _meant(wanted, known)
    return name, ZoneInfo(name)


def _meant(wanted: str, known: set[str]) -> str:
    """The zone whose name differs in case or blanks only."""
    spelled = {name.casefold(): name for name in sorted(known)}
    key = "_".join(wanted[:60].split()).casefold()
    if key in spelled:
        return spelled[key]
    cities = [name for short, name in spelled.items() if short.rpartition("/")[2] == key.rpartition("/")[2]]
    close = cities + [spelled[near] for near in difflib.get_close_matches(key, spelled, n=3)]
    hint = f"did you mean {', '.join(dict.fromkeys(close))}?" if close else "write it as Continent/City"
    raise ToolError("UNKNOWN_TIMEZONE", f"there is no time zone {wanted[:60]!r}; {hint} 'utc' and 'local' work too")


now = Tool(
    "now",
    "Tell the current date and time.",
    {
        "type": "object",
        "properties": {
            "timezone": {
                "type": "string",
                "description": "'utc', 'local' or an IANA name such as Europe/Berlin.",
                "default": "utc",
            }
        },
        "additionalProperties": False,
    },
    _now,
    read_only=True,
    timeout_s=None,
)
"""``{timezone}`` to ``{"iso", "timezone", "date", "time", "weekday", "unix"}``; ``unix`` in whole seconds."""
