"""Tool calls that a stream sends in pieces, put together again.

OpenAI's way: a call has an ``index``; its first piece has the id and the name, the others pieces of the arguments.
Other servers leave out the index, use one index for several calls, or send a whole call, once or again and again.
"""

import json
from collections.abc import Mapping
from typing import Any

from micro_agent.models.bodies import as_object


class _Call:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.value: Any = None
        """Arguments that came as something else than text."""
        self._pieces: list[str] = []
        self._size = 0

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def complete(self) -> bool:
        """Whether the arguments are whole: nothing but another call can follow."""
        if self.value is not None:
            return True
        last = self._pieces[-1].rstrip() if self._pieces else ""
        if last and last[-1] != "}":  # so that not every piece of a long text has all of it read
            return False
        try:
            return isinstance(json.loads(self.text), dict)
        except (ValueError, RecursionError):
            return False

    def take(self, call_id: str, name: str, arguments: Any) -> None:
        self.id = self.id or call_id
        repeated = bool(name) and name == self.name
        if name and not self._size:
            self.name = name if name.startswith(self.name) else self.name + name
        if not isinstance(arguments, str):
            self.value = self.value if arguments is None else arguments
        elif repeated and 0 < self._size <= len(arguments) and arguments.startswith(self.text):
            self._pieces, self._size = [arguments], len(arguments)
        elif not (repeated and self.complete()):
            self._pieces.append(arguments)
            self._size += len(arguments)


class CallDeltas:
    """Takes the entries of ``tool_calls`` in the order in which they arrive."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._of: dict[str, _Call] = {}

    def take(self, entry: Mapping[str, Any]) -> None:
        """One entry, whatever is in it."""
        fields = as_object(entry.get("function")) or entry
        call_id, name, index = _text(entry.get("id")), _text(fields.get("name")), entry.get("index")
        arguments: Any = fields.get("arguments")
        number = index if isinstance(index, int) else None
        call = self._at.get(number) if number is not None else self._unnumbered(call_id, name)
        if call is None or _another(call, call_id, name, arguments):
            call = _Call()
            self._calls.append(call)
        if number is not None:
            self._at[number] = call
        call.take(call_id, name, arguments)
        self._of.setdefault(call.id, call)

    def calls(self) -> list[dict[str, Any]]:
        """The calls, each as a reply that is not streamed has it."""
        return [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.text if call.value is None else call.value},
            }
            for call in self._calls
        ]

    def _unnumbered(self, call_id: str, name: str) -> _Call | None:
        """The call that a piece without an index goes on with: the one of its id, else the last."""
        same = self._of.get(call_id) if call_id else None
        if same is None and not (call_id and name):
            return self._calls[-1] if self._calls else None
        return same


def _another(call: _Call, call_id: str, name: str, arguments: Any) -> bool:
    """Whether a piece that seems to go on with ``call`` begins another one. A piece without a name never does."""
    if not name:
        return False
    if call_id and call.id:
        return call_id != call.id
    if name != call.name:
        return bool(call.text) or call.value is not None
    if not call.complete():
        return False
    return arguments not in ((None, "", call.text) if call.value is None else (None, call.value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
