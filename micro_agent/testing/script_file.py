"""A script as a JSON file: a list of objects, each with one key that says the kind of reply, and options beside it.

    [{"call": {"name": "add", "args": {"a": 1, "b": 2}}},
     {"error": {"status": 429, "message": "slow down", "retry_after": 1}},
     {"text": "3", "delay_s": 0.5, "usage": [120, 2]}]

The kinds are constructors of `micro_agent.testing`: ``text call calls decision final error cut malformed hang``. The
options are ``reasoning finish_reason usage model delay_s``.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from micro_agent.errors import ConfigurationError
from micro_agent.testing import reply
from micro_agent.testing.reply import Reply


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Call(_Strict):
    name: str
    args: Any = {}
    id: str | None = None
    text: str = ""


class _Named(_Strict):
    name: str
    args: dict[str, Any] = {}


class _Error(_Strict):
    status: int
    message: str
    code: str | None = None
    retry_after: float | None = None
    body: dict[str, Any] | None = None


class _Cut(_Strict):
    after_bytes: int | None = None
    after_chunks: int | None = None


class _Options(_Strict):
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: tuple[int, int] | None = None
    model: str | None = None
    delay_s: float = 0.0


class _Entry(_Options):
    text: str = ""
    call: _Call = _Call(name="")
    calls: list[_Named] = []
    decision: _Named = _Named(name="")
    final: str = ""
    error: _Error = _Error(status=500, message="")
    cut: _Cut = _Cut()
    malformed: bool = True
    hang: float = 0.0


_MAKERS: dict[str, Callable[[_Entry], Reply]] = {
    "text": lambda entry: reply.text(entry.text),
    "call": lambda entry: reply.call(**dict(entry.call)),
    "calls": lambda entry: reply.calls(*((named.name, named.args) for named in entry.calls)),
    "decision": lambda entry: reply.decision(**dict(entry.decision)),
    "final": lambda entry: reply.final(entry.final),
    "error": lambda entry: reply.error(**dict(entry.error)),
    "cut": lambda entry: reply.cut(**dict(entry.cut)),
    "malformed": lambda entry: reply.malformed(),
    "hang": lambda entry: reply.hang(entry.hang),
}
_ENTRIES = TypeAdapter(list[_Entry])


def read_script(path: Path) -> list[Reply]:
    """The replies that a file holds.

    Raises:
        ConfigurationError: The file cannot be read or is no such list; the message says where.
    """
    try:
        entries = _ENTRIES.validate_json(path.read_bytes())
    except OSError as wrong:
        raise ConfigurationError(f"cannot read the script {path}: {wrong.strerror}") from wrong
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(map(str, first["loc"])) or "top"
        raise ConfigurationError(f"the script {path} is wrong at {where}: {first['msg']}") from wrong
    return [_reply(entry, f"reply {index} of {path}") for index, entry in enumerate(entries)]


def _reply(entry: _Entry, where: str) -> Reply:
    kinds = entry.model_fields_set & _MAKERS.keys()
    if len(kinds) != 1:
        raise ConfigurationError(f"{where} must have exactly one of these keys: {' '.join(_MAKERS)}")
    options = entry.model_dump(include=set(_Options.model_fields) & entry.model_fields_set)
    return replace(_MAKERS[kinds.pop()](entry), **options)
