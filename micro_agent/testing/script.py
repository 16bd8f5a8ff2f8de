"""A script: the replies that a double gives, in order or as a function of the request."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from micro_agent.run.finishing import QUESTION
from micro_agent.run.making import asks_to_make
from micro_agent.testing.reply import Reply, error

SHOWN_CHARS = 300
"""So much of the last message stands in the error of an exhausted script."""


@dataclass(frozen=True, slots=True)
class Received:
    """One HTTP request as it came: names of ``headers`` in lower case, ``body`` ``None`` if it is not a JSON object."""

    path: str
    method: str
    headers: dict[str, str]
    body: dict[str, Any] | None
    raw: bytes

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a chat request, empty for any other."""
        return (self.body or {}).get("messages") or []

    @property
    def asks_if_final(self) -> bool:
        """Whether the model is asked if its last reply was its final answer: ``{"done": true}`` or ``false``."""
        return self._last == QUESTION

    @property
    def asks_to_make(self) -> bool:
        """Whether it is asked if calls inside the text of that reply shall be made: ``{"make": true}`` or ``false``."""
        return asks_to_make(self._last)

    @property
    def yes(self) -> str | None:
        """What says yes to a question of these two; ``None`` for any other request."""
        if self.asks_if_final:
            return '{"done": true}'
        return '{"make": true}' if self.asks_to_make else None

    @property
    def _last(self) -> object:
        return self.messages[-1].get("content") if self.messages else None


Script = Sequence[Reply] | Callable[[Received], Reply]
"""Replies in the order in which requests arrive, or a function from the request to the reply.

Asked whether its last reply was final, or whether a call inside its text shall be made, a list says yes, unless its
next reply is ``{"done": …}`` or ``{"make": …}``.
"""


class Player:
    """Plays a script. The caller lets one thread in at a time, so a script's function needs no lock of its own."""

    def __init__(self, script: Script, *, repeat: bool = False):
        self._script = script if callable(script) else tuple(map(checked, script))
        self._repeat = repeat
        self.played = 0
        """The number of requests that were given a reply, the error of an exhausted script included."""

    def play(self, request: Received) -> Reply:
        """The next reply: an error 500 when the script is exhausted.

        Raises:
            TypeError: The script's function returned something else than a reply.
        """
        self.played += 1
        if callable(self._script):
            return checked(self._script(request))
        return self._at(self.played - 1) or _exhausted(len(self._script), request)

    def says_yes(self, request: Received) -> Reply | None:
        """Yes, where this is a question about the last reply to which the replies say nothing."""
        yes = None if callable(self._script) else request.yes
        return None if yes is None or _tells(self._at(self.played), yes) else Reply(yes)

    def _at(self, index: int) -> Reply | None:
        assert not callable(self._script), "a function has no places"
        if self._repeat and self._script:
            index %= len(self._script)
        return self._script[index] if index < len(self._script) else None


def checked(reply: object) -> Reply:
    """``reply``, if it is one.

    Raises:
        TypeError: It is not.
    """
    if isinstance(reply, Reply):
        return reply
    raise TypeError(f"a script is made of replies such as text('…') or call('name', {{…}}), not of {reply!r:.80}")


def _tells(reply: Reply | None, yes: str) -> bool:
    """Whether a reply says this or the contrary."""
    said = "" if reply is None else reply.text.replace(" ", "")
    return said.startswith(yes.partition(" ")[0])


def _exhausted(count: int, request: Received) -> Reply:
    last = json.dumps(request.messages[-1:], ensure_ascii=False)[:SHOWN_CHARS]
    told = f"the script is exhausted after {count} replies; the last message of this request: {last}"
    return error(500, told, retry_after=0)
