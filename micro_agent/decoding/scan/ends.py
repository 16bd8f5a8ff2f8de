"""Where tags stand in a text that may hold many of them, found in one pass."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

_MAX_JSON_CALLS = 100
_JSON_CALL = re.compile(r"<tool_calls?>\s{0,20}\{")


@dataclass(slots=True)
class Ends:
    """Where a closing tag stands next; asking for each of many openings costs one pass over the text in all."""

    text: str
    pattern: re.Pattern[str]
    _match: re.Match[str] | None = None
    _searched: bool = False

    def after(self, at: int) -> re.Match[str] | None:
        """The first match that begins at ``at`` or later; ``at`` must not go back."""
        if not self._searched or (self._match is not None and self._match.start() < at):
            self._match, self._searched = self.pattern.search(self.text, at), True
        return self._match


_TORN = re.compile(r"\s*+<(?:[^<>]{0,300}\Z|\|open\|>|arg_|(?:parameter|param|arg|argument)\b)")


def tears_off(text: str, at: int) -> bool:
    """Whether a tag begins behind ``at`` that is cut off or that another argument needs: the call goes on."""
    return _TORN.match(text, at) is not None


def holds_json_calls(text: str, read: Sequence[tuple[int, int]] = ()) -> bool:
    """Whether Hermes' tags hold JSON somewhere: one who reads another form in them would leave those calls out.

    In a value of a whole call they are text; ``read`` is where such calls begin and end.
    """
    found = islice(_JSON_CALL.finditer(text), _MAX_JSON_CALLS)
    return any(not any(start < one.start() < end for start, end in read) for one in found)
