"""YAML with its values as text, the way they stand in the file.

YAML 1.1 makes 750 of ``12:30``, ``True`` of ``yes``, 7 of ``007`` and a date object of ``2026-01-31``; in a file of
questions and answers all of them are text. So a value without quotes is text too, and only an empty one, ``~`` and
``null`` are nothing; what is a number is decided by the field. The parser's events are read one by one, with a bound on
depth and on what aliases repeat; tags (``!…``) are refused.
"""

from collections.abc import Iterator
from typing import Any

import yaml

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # without libyaml it is 20 times slower
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_MAX_DEPTH = 20
_MAX_REPEATED = 100_000


class Block(dict[str, Any]):
    """A mapping, with the ``line`` that it begins on, counted from 1."""

    line: int = 0


def read_yaml(text: str) -> Any:
    """The one document in ``text``: `Block`, list, text or ``None``.

    Raises:
        ValueError: It is not YAML, or more of YAML than is read here; the message is one line that names the line.
    """
    try:
        return _Document(yaml.parse(text, Loader=_LOADER)).read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{where}not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from error


class _Document:
    """Builds values from events. An anchor's value is there for aliases once it is complete, so none holds itself."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self.events = events
        self.anchors: dict[str, tuple[Any, int]] = {}
        """Values by name, with the number of values in each."""
        self.built = self.repeated = 0

    def read(self) -> Any:
        value, seen = None, False
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if seen:
                    raise _fault(event, "a second document begins; make them one")
                value, seen = self.value(next(self.events), _MAX_DEPTH), True
        return value

    def value(self, event: yaml.Event, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        if event.tag:
            raise _fault(event, f"a tag ({event.tag[:60]!r}) is not read; write the value without it")
        before, self.built = self.built, self.built + 1
        value = self.scalar(event) if isinstance(event, yaml.ScalarEvent) else self.collection(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = value, self.built - before
        return value

    def alias(self, event: yaml.AliasEvent) -> Any:
        name = event.anchor or ""
        if name not in self.anchors:
            raise _fault(event, f"the alias *{name[:60]} stands before the end of what it names")
        value, size = self.anchors[name]
        self.built += size
        self.repeated += size
        if self.repeated > _MAX_REPEATED:
            raise _fault(event, f"aliases repeat more than {_MAX_REPEATED} values; write them out")
        return value

    def scalar(self, event: yaml.ScalarEvent) -> str | None:
        without_quotes = event.implicit and event.implicit[0]
        return None if without_quotes and event.value in _NULLS else event.value

    def collection(self, event: yaml.CollectionStartEvent, depth: int) -> Any:
        if not depth:
            raise _fault(event, "nested too deeply")
        if isinstance(event, yaml.SequenceStartEvent):
            return list(self.items(depth - 1))
        return self.block(event, depth - 1)

    def items(self, depth: int) -> Iterator[Any]:
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self.value(event, depth)

    def block(self, start: yaml.Event, depth: int) -> Block:
        block = Block()
        block.line = _line(start)
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.value(event, depth)
            if not isinstance(key, str):
                raise _fault(event, "a key must be text")
            if key in block:
                raise _fault(event, f"the key {key[:60]!r} stands there twice")
            block[key] = self.value(next(self.events), depth)
        return block


def _fault(event: yaml.Event, what: str) -> ValueError:
    return ValueError(f"line {_line(event)}: {what}")


def _line(event: yaml.Event) -> int:
    assert event.start_mark
    return event.start_mark.line + 1
