"""What one look at the machine found."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

State = Literal["ok", "warn", "fail", "skip"]
"""It works; it works, but; it does not; it could not be looked at, because something before it does not."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor.

    ``name`` is what was looked at, ``told`` what was found, ``advice`` what to do about it (``None`` when there is
    nothing to do), ``data`` the same as figures, for programs. What is unknown is ``None`` in it.
    """

    name: str
    state: State
    told: str
    advice: str | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any])

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def ok(name: str, told: str, **data: Any) -> Check:
    """It works."""
    return Check(name, "ok", told, None, data)


def warn(name: str, told: str, advice: str, **data: Any) -> Check:
    """It works, but worse than it could."""
    return Check(name, "warn", told, advice, data)


def fail(name: str, told: str, advice: str, **data: Any) -> Check:
    """It does not work."""
    return Check(name, "fail", told, advice, data)


def skip(name: str, why: str) -> Check:
    """It could not be looked at."""
    return Check(name, "skip", why)
