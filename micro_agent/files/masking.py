"""Keep the secrets that this process knows out of what leaves it: files, HTTP, standard output and error, logs.

The value of a variable whose name looks like a secret's is written as ``[env:NAME]``, any other secret as
``[secret:NAME:9c2e]``, where the digits tell apart what has the same name. A journal says in each line which names were
replaced in it, and only those are put back: a placeholder that a model or a web page wrote stays text, or it would
fetch a secret that the model was never shown.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast
from urllib.parse import quote

from micro_agent.errors import StorageError
from micro_agent.files.jsonl import encode
from micro_agent.files.known_secrets import SECRET_NAME, Given, given, is_secret

_OTHER = "secret:"
"""How the names begin of what stands in no variable. The name of a variable has no colon here: it is quoted."""


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
    pattern: re.Pattern[str] = re.compile("(?!)")
    """Matches every form, at each place the longest."""
    by_text: Mapping[str, Form] = field(default_factory=dict[str, Form])

    def encode(self, data: Any, *, note: bool = False) -> bytes:
        """``data`` as one JSON line without secrets; ``note`` adds the names replaced in it as its key ``masked``.

        Strings and keys are searched, numbers are not. Raises what `micro_agent.files.jsonl.encode` does.
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

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        return self._hide(text, set())

    def restore(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data of a line written with ``note``, its placeholders put back and its key ``masked`` left out.

        A secret that is not known today keeps its placeholder; `missing` names it. Raises `ValueError` for data that is
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
        """The placeholders of the names in a line's ``masked`` that have no value today."""
        lost = sorted(_names(data) - {form.name for form in self.forms})
        return [f"[{name}]" if name.startswith(_OTHER) else f"[env:{name}]" for name in lost]

    def _hide(self, text: str, names: set[str]) -> str:
        def placeholder(found: re.Match[str]) -> str:
            form = self.by_text[found[0]]
            names.add(form.name)
            return form.placeholder

        return self.pattern.sub(placeholder, text)


def mask_of(environ: Mapping[str, str] | None = None) -> Mask:
    """The mask for the secrets in ``environ`` (default: this process's environment, as it is now) and for `given` ones.

    Made once for the same secrets, so it costs a look at the names of the variables.
    """
    values = os.environ if environ is None else environ
    return _mask(tuple((name, values[name]) for name in values if _is_secret_name(name)), given())


@lru_cache(maxsize=1024)
def _is_secret_name(name: str) -> bool:
    return SECRET_NAME.search(name) is not None


@lru_cache(maxsize=8)
def _mask(variables: tuple[tuple[str, str], ...], others: tuple[Given, ...]) -> Mask:
    forms = [form for name, label, value in _named(variables, others) for form in _forms(name, label, value)]
    distinct = {form.text: form for form in reversed(forms)}
    longest_first = sorted(distinct.values(), key=lambda form: (-len(form.text), form.name))
    if not longest_first:
        return Mask()
    needles = {needle for form in longest_first for needle in (encode(form.text)[1:-2], _ascii(form.text).encode())}
    pattern = re.compile("|".join(re.escape(form.text) for form in longest_first))
    return Mask(tuple(longest_first), tuple(sorted(needles)), pattern, distinct)


def _named(variables: tuple[tuple[str, str], ...], others: tuple[Given, ...]) -> Iterator[tuple[str, str, str]]:
    """Each secret with its name and label. A name is that of one value: the environment's, else the latest given."""
    taken: dict[str, str] = {}
    known = [*sorted(variables), *((one.name, one.value) for one in reversed(others) if one.variable)]
    for name, value in known:
        if is_secret(name, value) and taken.setdefault(name, value) == value:
            yield quote(name, safe=""), f"env:{quote(name, safe='')}", value
    for name, value in [*known, *((one.name, one.value) for one in others if not one.variable)]:
        if is_secret(name, value) and value not in taken.values():
            digits = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:4]
            label = f"{_OTHER}{quote(name, safe='')}:{digits}"
            yield label, label, value


def _names(data: dict[str, Any]) -> set[str]:
    """The names that a line says were replaced in it; none if damage has made something else of them."""
    names = data.get("masked")
    return {name for name in cast("list[Any]", names) if isinstance(name, str)} if isinstance(names, list) else set()


def _forms(name: str, label: str, value: str) -> Iterator[Form]:
    """The value itself, and as it stands inside JSON that is kept as text (the arguments of a tool call)."""
    yield Form(name, value, f"[{label}]")
    yield Form(name, _ascii(value), f"[{label}:json]")
    yield Form(name, json.dumps(value, ensure_ascii=False)[1:-1], f"[{label}:json-utf8]")


def _ascii(text: str) -> str:
    return json.dumps(text)[1:-1]


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
