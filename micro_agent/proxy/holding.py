"""Which text of a stream may be the begin of a call, so that it is held back until more is known; all else goes on.

It guesses, and a wrong guess does no harm: what is held back for nothing goes out later, as the same bytes; and a call
in a text that went out is still made at the end of the reply, beside that text.
"""

import re
from collections.abc import Iterable
from typing import Literal

_State = Literal["begin", "thought", "held", "prose"]
_THOUGHT = re.compile(r"\s*<(?P<tag>(?:seed:)?(?:think|thinking|thought|reasoning))\s*>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</(?:seed:)?(?:think|thinking|thought|reasoning)\s*>", re.IGNORECASE)
_LONGEST_END = 20
_SIGN = re.compile(r"[{\[<`(=:|｛【✿]|>>>|->")
"""What may open a call, or stand between a tool and its arguments."""
_OPENS = "{[<｛"
_PROSE = re.compile(
    r"[\s*_#>-]*[^\W\d_][\w'’-]*[,.!?;]?\s+[^\W_][\w'’-]*[,.!?;]?\s+\S"  # two words and the begin of a third
    r"|\s*(?:[^\W\d_]|[，。！？、]){12}"  # a script without blanks
)
_LATER = re.compile(r"[{\[<｛]|```|>>>|\bto=|(?:^|\n)\W{0,4}[A-Z]\w{1,12}(?: \w{1,12})?:")
"""What may open a call behind words."""
_ENOUGH = 48
"""Characters at the begin without a sign of a call: they are words."""
_MOST = 240
"""Characters behind such a sign in which the name of a tool stands, if it is one."""
_SIGNS = re.compile(r"[\W_]+")


class Holder:
    """Looks at the text of one reply as it comes.

    Args:
        names: Of the tools that may be called.
        embedded: Whether a call behind other words is mended too; else nothing is held back once there are words.
    """

    def __init__(self, names: Iterable[str], *, embedded: bool = False) -> None:
        self._names = [_folded(name) for name in names]
        self._embedded = embedded
        self._state: _State = "begin"
        self._text = ""
        """The end of what came, as far as it is held back or still looked at."""
        self._at = 0
        """Where what is looked at begins."""
        self._sent = 0
        """Where what is held back begins."""
        self._spoke = False
        """Whether anything but blanks went out."""
        self._named = False

    @property
    def holds(self) -> bool:
        """Whether the text since the last time that it held nothing back may be the begin of a call."""
        return self._state in ("begin", "held")

    @property
    def holds_text(self) -> bool:
        """Whether such text came."""
        return self.holds and len(self._text) > self._sent

    def left(self) -> str:
        """What was held back and stands in front of what may be a call.

        Blanks alone are nothing to say: pydantic-ai takes a reply that begins with any text for an answer.
        """
        left = self._text[self._sent : self._at] if self.holds else ""
        return left if self._spoke or left.strip() else ""

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        if self._named or (self._state == "prose" and not self._embedded):
            return  # nothing that comes can change it, and the text may be long
        self._text += piece
        while self._step():
            pass
        if self.holds:
            return
        self._spoke = self._spoke or bool(self._text[self._sent :].strip())
        gone = max(0, min(self._at, len(self._text)) - 1)  # a pattern looks at the letter in front
        self._text, self._at = self._text[gone:], self._at - gone
        self._sent = len(self._text)

    def _step(self) -> bool:
        """Look at what is new; whether something has changed, so that it is to be looked at again."""
        if self._state == "begin":
            return self._begin()
        if self._state == "thought":
            return self._thought()
        return self._held() if self._state == "held" else self._embedded and self._prose()

    def _begin(self) -> bool:
        text = self._text[self._at : self._at + _MOST]
        if (opening := _THOUGHT.match(text)) is not None:
            self._state, self._at = "thought", self._at + opening.end()
            return True
        begun = len(text) - len(text.lstrip())
        words = _PROSE.match(text)
        if words is not None and not self._names_one(words[0]):
            return self._pass(len(text) if not self._embedded else begun)
        if (sign := _SIGN.search(text)) is not None and sign.start() < _ENOUGH:
            behind_words = self._embedded and sign[0] in _OPENS
            self._state, self._at = "held", self._at + (sign.start() if behind_words else begun)
            return True
        return len(text) >= _ENOUGH and self._pass(begun)

    def _thought(self) -> bool:
        end = _THOUGHT_ENDS.search(self._text, self._at)
        if end is None:
            self._at = max(self._at, len(self._text) - _LONGEST_END)
            return False
        self._state, self._at = "begin", end.end()
        return self._at < len(self._text)

    def _held(self) -> bool:
        begun = self._text[self._at : self._at + _MOST + 64]
        self._named = self._names_one(begun)
        return not self._named and len(begun) >= _MOST and self._pass(len(begun))

    def _names_one(self, text: str) -> bool:
        """Whether the name of a tool stands in a text."""
        folded = _folded(text)
        return any(name in folded for name in self._names)

    def _pass(self, length: int) -> bool:
        self._state, self._at = "prose", self._at + length
        return True

    def _prose(self) -> bool:
        found = _LATER.search(self._text, self._at)
        if found is None:
            self._at = max(self._at, len(self._text) - 24)
            return False
        self._state, self._at = "held", found.start()
        return True


def _folded(text: str) -> str:
    """A text without case and signs, as names of tools are compared."""
    return _SIGNS.sub("", text).casefold()
