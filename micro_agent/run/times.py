"""Times of a record (`micro_agent.run.utc_now`), read back."""

from datetime import datetime


def instant(at: str | None) -> float | None:
    """Seconds since 1970; ``None`` for what is no time with its zone."""
    try:
        read = datetime.fromisoformat(at or "")
    except ValueError:
        return None
    return read.timestamp() if read.tzinfo is not None else None


def seconds_between(begin: str | None, end: str) -> float | None:
    """How long it was, never below 0 (clocks are set back); ``None`` where that is not known."""
    since, until = instant(begin), instant(end)
    return None if since is None or until is None else max(0.0, round(until - since, 3))
