"""Where the servers of an eval are: as its header says, and whether it may go on at others."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.context_length import told_by
from micro_agent.models.identity import Served, addresses_of, traits_of
from micro_agent.models.same_model import difference, recorded


def whereabouts(lm: Any) -> dict[str, Any]:
    """What a header says of the servers: an address, or several with what they say of their model (``served``)."""
    where = addresses_of(lm)
    return {"base_url": where, **({"served": recorded(told_by(lm).served)} if isinstance(where, list) else {})}


def conflict(named: Sequence[str], then: str | list[str] | None) -> tuple[Any, Any]:
    """The addresses that are named and those of a header, as two values that differ where that is refused.

    The order of several is nothing, and whether an eval may go on at others is for `check_moved` to say.
    """
    if max(len(named), len(_each(then))) > 1:
        return None, None
    return (named[0].rstrip("/") if named else ""), then


def given(named: Sequence[str], then: str | list[str] | None, *, said: bool) -> list[str]:
    """The addresses that are meant today: those ``said`` on the command line; others only if they are on record too."""
    today = [url.rstrip("/") for url in named]
    return today if said or set(today) == set(_each(then)) else []


def check_moved(path: Path, lm: Any, settings: Mapping[str, Any]) -> None:
    """Let an eval go on at other servers than it was begun with, if they have the same model.

    Raises:
        ConfigurationError: They do not, or nothing tells.
    """
    now, then = _each(addresses_of(lm)), _each(settings["base_url"])
    if set(now) == set(then):
        return
    before, today = Served(**settings.get("served", {})), told_by(lm).served
    if found := difference(before, today):
        what, was, is_now = found
        told = f"its {what} is {is_now} at {', '.join(now)}, and was {was}"
        raise ConfigurationError(f"{path} was begun with another model: {told}; start another eval")
    known = any(value is not None and getattr(today, part) is not None for part, value in asdict(before).items())
    if not known and not set(then) & set(getattr(traits_of(lm), "answering", now)):
        told = f"nothing tells that {', '.join(now)} has the model that {path} was begun with"
        raise ConfigurationError(f"{told} at {', '.join(then)}: name one of those as well, or start another eval")


def _each(where: str | list[str] | None) -> list[str]:
    return [where] if isinstance(where, str) else where or []
