"""Keep secrets of the environment out of what is written to disk.

The value of a variable whose name looks like a secret's is written as ``[env:NAME]``. A journal says in each line which
names were replaced in it, and only those are put back: a placeholder that a model or a web page wrote stays text, or it
would fetch a secret that the model was never shown.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from micro_agent.errors import StorageError
from micro_agent.run import LMCall, Run, Step, Usage
from micro_agent.storage.jsonl import encode

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH(?!OR)", re.IGNORECASE)
_SHORTEST = 8
_WORD = re.compile(r"[a-z]{1,15}|[A-Z]{1,15}")
_FORMAT_WORDS = " ".join([
    *Run.model_fields, *Step.model_fields, *LMCall.model_fields, *Usage.model_fields,
    "confirmation_required", "tool_started", "side_effects",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a secret can stand in a string, and the placeholder for exactly this way."""

    name: str
    text: str
    placeholder: str


@dataclass(frozen=True, slots=True)
class Mask:
    """The secrets to replace, longest first. An empty mask replaces nothing."""

    forms: tuple[Form, ...] = ()
    needles: tuple[bytes, ...] = ()
    """What an encoded line contains when it contains a secret: most lines need no more than this search."""

    def encode(self, data: Any, *, note: bool = False) -> bytes:
        """``data`` as one JSON line without secrets; ``note`` adds the names replaced in it as its key ``masked``.

        Strings and keys are searched, numbers are not. Raises what `micro_agent.storage.jsonl.encode` does.
        """
        line = encode(data)
        if not any(needle in line for needle in self.needles):
            return line
        names: set[str] = set()
        try:
            masked = _walk(json.loads(line), lambda text: self._hide(text, names))
        except RecursionError as error:
            raise StorageError("cannot be written: it is nested too deeply to look for secrets in it") from error
        return encode({**masked, "masked": sorted(names)} if note else masked)

    def restore(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data of a line written with ``note``, its placeholders put back and its key ``masked`` left out.

        A variable that is no longer set keeps its placeholder; `missing` names it. Raises `ValueError` for data that is
        nested too deeply.
        """
        names = _names(data)
        if not names:
            return data
        forms = [form for form in self.forms if form.name in names]
        kept = {key: value for key, value in data.items() if key != "masked"}
        try:
            return _walk(kept, lambda text: _show(text, forms))
        except RecursionError as error:
            raise ValueError("JSON that is nested too deeply") from error

    def missing(self, data: dict[str, Any]) -> list[str]:
        """The names in a line's ``masked`` that have no value today."""
        return sorted(_names(data) - {form.name for form in self.forms})

    def _hide(self, text: str, names: set[str]) -> str:
        pieces = [text]  # text and placeholders by turns, so that nothing is replaced inside a placeholder
        for form in self.forms:
            if form.text in text:
                names.add(form.name)
                pieces = list(_split(pieces, form))
        return "".join(pieces)


def mask_of(environ: Mapping[str, str] | None = None) -> Mask:
    """The mask for the secrets in ``environ`` (default: this process's environment, as it is now)."""
    values = os.environ if environ is None else environ
    named = {name: values[name] for name in values if _SECRET_NAME.search(name)}
    secrets = {name: value for name, value in named.items() if is_secret(name, value)}
    forms = [form for name in sorted(secrets) for form in _forms(name, secrets[name])]
    distinct = {form.text: form for form in reversed(forms)}
    longest_first = sorted(distinct.values(), key=lambda form: (-len(form.text), form.name))
    needles = {needle for form in longest_first for needle in (encode(form.text)[1:-2], _ascii(form.text).encode())}
    return Mask(tuple(longest_first), tuple(sorted(needles)))


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret: by its name, unless its value is short, a path or a plain word.

    A path is one that starts with ``~/``, ``./``, ``../`` or a top folder that exists: base64 may start with a slash. A
    plain word is at most 15 letters of one case, as in ``AUTH_METHOD=kerberos``, but never where the name says password
    or secret. A word of the trace format is no secret.
    """
    if len(value) < _SHORTEST or not _SECRET_NAME.search(name) or value in _FORMAT_WORDS or _is_path(value):
        return False
    return bool(re.search("PASS|SECRET", name, re.IGNORECASE)) or not _WORD.fullmatch(value)


def _is_path(value: str) -> bool:
    if value.startswith(("~/", "./", "../")):
        return True
    top = value.split("/", 2)[1] if value.startswith("/") else ""
    return bool(top) and "\0" not in top and Path("/", top).is_dir()


def _names(data: dict[str, Any]) -> set[str]:
    """The names that a line says were replaced in it; none if damage has made something else of them."""
    names = data.get("masked")
    return {name for name in cast("list[Any]", names) if isinstance(name, str)} if isinstance(names, list) else set()


def _forms(name: str, value: str) -> Iterator[Form]:
    """The value itself, and as it stands inside JSON that is kept as text (the arguments of a tool call)."""
    label = quote(name, safe="")
    yield Form(label, value, f"[env:{label}]")
    yield Form(label, _ascii(value), f"[env:{label}:json]")
    yield Form(label, json.dumps(value, ensure_ascii=False)[1:-1], f"[env:{label}:json-utf8]")


def _ascii(text: str) -> str:
    return json.dumps(text)[1:-1]


def _split(pieces: list[str], form: Form) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        if index % 2:
            yield piece
            continue
        first, *others = piece.split(form.text)
        yield first
        for other in others:
            yield form.placeholder
            yield other


def _show(text: str, forms: list[Form]) -> str:
    for form in forms:
        text = text.replace(form.placeholder, form.text)
    return text


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _walk(item, change) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_walk(item, change) for item in cast("list[Any]", value)]
    return value
