"""Text that goes out piece by piece, without secrets, also where one came in several pieces."""

import io
import re
from collections.abc import Callable
from typing import TextIO

from micro_agent.files.masking import Mask
from micro_agent.streaming import AnswerText, OnEvent, StreamEvent


class MaskedText:
    """Hands pieces on as `Mask.text` would show the whole, as soon as it is known how.

    What is held back is the longest tail that is the beginning of a known secret. The time is linear in the text: a
    place in it is given up once, and looked at again only while it may be where a secret begins.
    """

    def __init__(self, emit: Callable[[str], object], mask: Mask) -> None:
        self._emit, self._mask, self._held = emit, mask, ""
        self._secrets = tuple(form.text for form in mask.forms)
        self._longest = max(map(len, self._secrets), default=0)
        self._first = re.compile("|".join({re.escape(secret[0]) for secret in self._secrets}) or "(?!)")

    def feed(self, text: str) -> None:
        """Take the next piece."""
        text, shown, at = self._held + text, list[str](), 0
        end = len(text)
        for letter in self._first.finditer(text):
            start = letter.start()
            if start < at:
                continue  # it is part of a secret
            if self._is_cut_off(text, start):
                end = start
                break
            if found := self._mask.pattern.match(text, start):
                shown += [text[at:start], self._mask.text(found[0])]
                at = found.end()
        self._held = text[end:]
        self._say("".join(shown) + text[at:end])

    def finish(self) -> None:
        """Nothing follows for now: give out what was held back."""
        text, self._held = self._held, ""
        self._say(self._mask.text(text))

    def _say(self, text: str) -> None:
        if text:
            self._emit(text)

    def _is_cut_off(self, text: str, start: int) -> bool:
        """Whether what stands from ``start`` on may be a secret, or a longer one, of which the rest is to come."""
        length = len(text) - start
        if length >= self._longest:
            return False
        tail = text[start:]
        return any(length < len(secret) and secret.startswith(tail) for secret in self._secrets)


def masked_events(emit: OnEvent, mask: Mask) -> OnEvent:
    """``emit`` with answer text that shows no secret. What was held back comes before any other event."""
    text = MaskedText(lambda piece: emit(AnswerText(piece)), mask)

    def take(event: StreamEvent) -> None:
        if isinstance(event, AnswerText):
            text.feed(event.text)
        else:
            text.finish()
            emit(event)

    return take


class MaskedFile(io.TextIOBase):
    """A text file to write to, which gets no secret. Close it, then ``file``: what was held back is written."""

    def __init__(self, file: TextIO, mask: Mask) -> None:
        super().__init__()
        self._text = MaskedText(file.write, mask)

    def write(self, text: str, /) -> int:
        """Take the next piece."""
        self._text.feed(text)
        return len(text)

    def close(self) -> None:
        """Write the rest."""
        if not self.closed:
            self._text.finish()
        super().close()
