"""The scripted defects: `dev.yaml` and `held.yaml` read, and what the model says in each at each point of the task.

An entry has an ``id``, a ``class`` and a form of the call: ``text`` (with ``before``, ``each``, ``between``, ``after``
for several calls), native ``name`` and ``arguments``, ``find`` and ``reserve`` (the arguments of each call as they
come), ``calls`` as they stand. ``a|b`` in a name is one for each call. ``finish``, ``reasoning``, ``quirks``,
``wires``, ``streamed`` (only then it is a defect) and ``midstream`` say the rest. In a form ``%NAME%``, ``%ARGS%``,
``%CALL%``, ``%STR%`` (the arguments as a string), ``%PY%``, ``%QWEN%``, ``%GLM%`` and ``%INVOKE%`` stand for parts of
the call that is due.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.proxy_defects.said import Call, Refusal, Said
from benchmarks.proxy_defects.task import FIND, FIND_OTHER, RESERVE, Args

HALVES = ("dev", "held")
WIRES = ("chat", "responses", "messages")
Kind = Literal["mend", "embedded", "asked", "choice", "trap", "good"]
Due = tuple[str, Args]
Entry = dict[str, Any]

SECTIONS: dict[str, Kind] = {
    "texts": "mend", "natives": "mend", "refusals": "mend", "damages": "mend", "embedded": "embedded", "asked": "asked",
    "choices": "choice", "traps": "trap", "good": "good",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect. ``kind`` says what is right: to mend it always or with an option, or to leave it alone."""

    id: str
    klass: str
    half: str
    kind: Kind
    wires: tuple[str, ...]
    entry: Entry

    @property
    def choice(self) -> str:
        """The ``tool_choice`` that the client sends first."""
        return self.entry.get("choice", "auto")

    @property
    def several(self) -> bool:
        """Whether two parts are looked up at once."""
        return self.entry.get("several", False)

    def due(self, stage: int) -> list[Due]:
        """The calls that the task needs at a stage: 0 nothing is known, 1 the part is."""
        if stage:
            return [RESERVE]
        return [FIND, FIND_OTHER] if self.several else [FIND]

    @property
    def expected(self) -> list[Due]:
        """What a client has done that did the task."""
        return [] if self.kind == "trap" else [*self.due(0), *self.due(1)]

    def said(self, stage: int) -> Said:
        """What the model, or its server, says at a stage."""
        entry, due = self.entry, self.due(stage)
        native = "calls" in entry or entry.get("native", False)
        said = Said(
            text="" if native and "text" not in entry else _text(entry, due, stage),
            reasoning=entry.get("reasoning"),
            calls=tuple(_calls(entry, due, stage)) if native else (),
            finish=entry.get("finish", "tool_calls" if native else "stop"),
            quirks=frozenset(entry.get("quirks", ())),
        )
        return _refused(entry, said.text, due[0], stage) if "status" in entry else said


def good_call(due: list[Due]) -> Said:
    """The calls as a good model and a good server say them."""
    return Said(calls=tuple(Call(name, json.dumps(args)) for name, args in due), finish="tool_calls")


def load(*halves: str) -> list[Defect]:
    """The defects of these halves; of both by default."""
    return [defect for half in halves or HALVES for defect in _half(half)]


def _half(half: str) -> Iterator[Defect]:
    sections: dict[str, list[Entry]] = yaml.safe_load((Path(__file__).parent / f"{half}.yaml").read_text("utf-8"))
    for section, kind in SECTIONS.items():
        for entry in sections[section]:
            if section == "damages":
                yield _defect(entry | {"native": True}, half, kind, "native-")
                yield _defect(entry | {"text": "<tool_call>\n%CALL%\n</tool_call>"}, half, kind, "hermes-")
            else:
                yield _defect(entry | {"native": section == "natives"}, half, kind, f"{section}-")


def _defect(entry: Entry, half: str, kind: Kind, prefix: str) -> Defect:
    return Defect(f"{half}-{prefix}{entry['id']}", entry["class"], half, kind, tuple(entry.get("wires", WIRES)), entry)


def _text(entry: Entry, due: list[Due], stage: int) -> str:
    if "each" in entry:
        filled = [_filled(entry["each"], one, entry, stage) for one in due]
        if len(due) > 1 or "text" not in entry:
            return entry.get("before", "") + entry.get("between", "").join(filled) + entry.get("after", "")
    return _filled(entry.get("text", ""), due[0], entry, stage) * entry.get("times", 1)


def _calls(entry: Entry, due: list[Due], stage: int) -> Iterator[Call]:
    if "calls" in entry:
        yield from (Call(name, arguments) for name, arguments in entry["calls"])
        return
    for one in due:
        yield Call(_named(entry.get("name", "%NAME%"), one, stage), _arguments(entry, one, stage))


def _named(form: str, due: Due, stage: int) -> str:
    names = form.split("|")
    return form.replace("%NAME%", due[0]) if len(names) != 2 else names[stage]


def _arguments(entry: Entry, due: Due, stage: int) -> str:
    literal = entry.get("find" if stage == 0 else "reserve")
    return literal if literal is not None else _filled(entry.get("arguments", "%ARGS%"), due, {}, stage)


def _filled(form: str, due: Due, entry: Entry, stage: int) -> str:
    arguments = _arguments(entry, due, stage) if "find" in entry else json.dumps(due[1])
    name = _named(entry["name"], due, stage) if "find" in entry and "name" in entry else due[0]
    parts = {
        "NAME": name, "ARGS": arguments, "STR": json.dumps(arguments),
        "CALL": f'{{"name": "{name}", "arguments": {arguments}}}',
        "PY": ", ".join(f"{key}={value!r}" for key, value in due[1].items()),
        "QWEN": "".join(f"<parameter={key}>\n{_plain(value)}\n</parameter>\n" for key, value in due[1].items()),
        "GLM": "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{_plain(value)}</arg_value>\n" for key, value in due[1].items()
        ),
        "INVOKE": "".join(f'<parameter name="{key}">{_plain(value)}</parameter>\n' for key, value in due[1].items()),
    }  # fmt: skip
    return re.sub("%([A-Z]+)%", lambda found: parts[found[1]], form)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _refused(entry: Entry, text: str, due: Due, stage: int) -> Said:
    error: Entry = {
        "message": entry["message"].replace("%TEXT%", text),
        "type": "server_error",
        "code": entry["status"],
    }
    if "failed_generation" in entry:
        generated = _filled(entry["failed_generation"], due, {}, stage)
        error |= {"type": "invalid_request_error", "code": entry["code"], "failed_generation": generated}
    after = entry.get("midstream", False)
    return Said(text=text[:20] if after else "", refusal=Refusal(entry["status"], {"error": error}, after))
