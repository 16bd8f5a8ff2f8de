"""JSON as weak models write it: an object spelled with wrong quotes, bare keys, comments and the like."""

import json
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an object is written: what stands around strings, and what JSON does not allow."""

    opening: str = '"'
    closing: str = '"'
    bare_keys: bool = False
    trailing_commas: bool = False
    comments: bool = False
    raw_newlines: bool = False

    def write(self, value: Any) -> str:
        """``value`` in this spelling."""
        if isinstance(value, str):
            return self._quoted(value)
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return self._joined("{}", [f"{self._key(key)}: {self.write(inner)}" for key, inner in fields.items()])
        if isinstance(value, list):
            return self._joined("[]", [self.write(inner) for inner in cast("list[Any]", value)])
        return json.dumps(value)

    def _key(self, key: str) -> str:
        return key if self.bare_keys and key.isidentifier() else self._quoted(key)

    def _quoted(self, text: str) -> str:
        inner = json.dumps(text, ensure_ascii=False)[1:-1]
        if self.opening == "'":
            inner = inner.replace('\\"', '"').replace("'", "\\'")
        if self.raw_newlines:
            inner = inner.replace("\\n", "\n")
        return f"{self.opening}{inner}{self.closing}"

    def _joined(self, braces: str, parts: list[str]) -> str:
        if not parts:
            return braces
        between = ", // next\n" if self.comments else ", "
        end = "," if self.trailing_commas else " /* done */ " if self.comments else ""
        return f"{braces[0]}{between.join(parts)}{end}{braces[1]}"
