"""Which values are secrets, and those that this process was given otherwise than by its environment.

A key can come from a ``.env`` file, as ``api_key=``, in a header of a model, or as a setting. Like the environment, and
unlike anything of a run, it belongs to the process: whoever is given one says so here, and
`micro_agent.files.masking.mask_of` keeps it out of what leaves the process from then on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, cast

from pydantic import BaseModel, SecretStr

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH(?!OR(?!IZ))", re.IGNORECASE)
_SHORTEST = 8
_WORD = re.compile(r"[a-z]{1,15}|[A-Z]{1,15}")
_CREDENTIAL = re.compile(r"[A-Za-z][A-Za-z0-9-]* +(\S+)")
"""The value of an ``Authorization`` header (RFC 9110, section 11.4)."""
_FORMAT_WORDS = frozenset({
    "approval", "base_url", "coercions", "confirmation", "confirmation_required", "context_length", "cost_usd",
    "decision", "fallback_from", "finish_reason", "finished_by", "forked_at", "input_tokens", "latency_s",
    "lm_calls", "model_answer", "observation", "output_tokens", "programs", "provider", "question",
    "recorded_bytes", "reply_reserve", "sampling", "schema_version", "settings", "side_effects",
    "termination_reason", "tool_calls", "tool_started", "traceparent", "ungrounded",
})  # fmt: skip
"""Words of `_SHORTEST` letters or more that stand in every trace."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value that may be a secret, and its name; ``variable``: the environment could hold it under this name."""

    name: str
    value: str
    variable: bool = False


_given: tuple[Given, ...] = ()
_lock = Lock()


def given() -> tuple[Given, ...]:
    """All that was remembered: of a variable its latest value last, the rest in the order in which they came."""
    return _given


def remember(name: str, value: str | None, *, variable: bool = False) -> None:
    """Keep ``value`` out of what leaves this process, if its name and looks are those of a secret."""
    global _given
    if not value:
        return
    found = Given(name, value, variable)
    with _lock:
        if found not in _given:
            _given = (*_given, found)
        elif variable and _given[-1] != found:
            _given = (*(one for one in _given if one != found), found)


def remember_file(path: str | Path | None) -> None:
    """Remember the secrets in a ``.env`` file, also under names that are not settings; nothing where there is none.

    Raises:
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    if path is None or not Path(path).is_file():
        return
    from dotenv import dotenv_values  # as pydantic-settings reads it

    for name, value in dotenv_values(path, encoding="utf-8").items():
        if SECRET_NAME.search(name):
            remember(name, value, variable=True)


def remember_settings(settings: BaseModel, prefix: str = "") -> None:
    """Remember every `SecretStr` of some settings under the name of its variable."""
    for name in type(settings).model_fields:
        if isinstance(value := getattr(settings, name), SecretStr):
            remember(f"{prefix}{name}".upper(), value.get_secret_value(), variable=True)


def remember_model(kwargs: Mapping[str, Any]) -> None:
    """Remember what looks like a secret in the arguments of a ``dspy.LM``: ``api_key``, headers, nested or not."""
    for name, value in kwargs.items():
        if isinstance(value, Mapping):
            remember_model(cast("Mapping[str, Any]", value))
        elif isinstance(value, str) and SECRET_NAME.search(name):
            remember(name, value)
            if credential := _CREDENTIAL.fullmatch(value.strip()):
                remember(name, credential[1])


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret: by its name, unless its value is short, a path or a plain word.

    A path is one that starts with ``~/``, ``./``, ``../`` or a top folder that exists: base64 may start with a slash. A
    plain word is at most 15 letters of one case, as in ``AUTH_METHOD=kerberos``, but never where the name says password
    or secret. A word of the trace format is not a secret.
    """
    if len(value) < _SHORTEST or not SECRET_NAME.search(name) or value in _FORMAT_WORDS or _is_path(value):
        return False
    return bool(re.search("PASS|SECRET", name, re.IGNORECASE)) or not _WORD.fullmatch(value)


def _is_path(value: str) -> bool:
    if value.startswith(("~/", "./", "../")):
        return True
    top = value.split("/", 2)[1] if value.startswith("/") else ""
    return bool(top) and "\0" not in top and Path("/", top).is_dir()
