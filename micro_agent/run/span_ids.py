"""The ids of the spans of a run, by W3C Trace Context: made of the run alone, so that they are the same each time.

https://www.w3.org/TR/trace-context-1/: a traceparent is ``00-<trace, 32 hex digits>-<span, 16>-<flags, 2>``.
"""

import re
from hashlib import sha256

from micro_agent.run import Run

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-.*)?")


def parsed(traceparent: str | None) -> tuple[str, str] | None:
    """The trace and the span that a traceparent names; ``None`` where it is none."""
    found = _TRACEPARENT.fullmatch((traceparent or "").strip())
    if found is None or ((traceparent or "").strip().startswith("00") and found[3]):
        return None
    return found[1], found[2]


def trace_id(run: Run) -> str:
    """The trace that a run's spans are in: that of its caller, else the one that has the run's own id."""
    caller = parsed(run.traceparent)
    return caller[0] if caller else run.id


def span_id(run: Run, *what: object) -> str:
    """The id of one span of a run; without ``what``, of the run itself."""
    return sha256("\0".join((run.id, *map(str, what))).encode()).hexdigest()[:16]


def traceparent(run: Run, *what: object) -> str:
    """What names one span of a run to others. It is said to be sampled: spans are sent, or nobody asks for this."""
    return f"00-{trace_id(run)}-{span_id(run, *what)}-01"
