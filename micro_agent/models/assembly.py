"""What reads the lines of a stream, whatever the wire."""

from typing import Any, Protocol

from micro_agent.models.failures import MAX_BODY_CHARS, Refusal
from micro_agent.models.reply import unreadable

_BLANK = b"\xef\xbb\xbf \t\r\n"
"""The bytes of a byte order mark, and of white space."""


class Assembly(Protocol):
    """Makes the body of a whole reply out of the lines of a streamed one."""

    @property
    def done(self) -> bool:
        """Whether the last event has been seen."""
        ...

    def feed(self, line: bytes) -> str:
        """Take one line; the answer text in it, mostly none.

        Raises:
            LMError: The server reports an error, or the line cannot be read.
        """
        ...

    def body(self) -> dict[str, Any]:
        """The body as a server that does not stream would have sent it.

        Raises:
            LMTransportError: The end of the reply is missing.
        """
        ...


class UnlessPage:
    """Reads as ``inner`` does, but for what begins with ``<``, as no reply does: it is kept, to say what it is."""

    def __init__(self, inner: Assembly, sent: Refusal):
        self._inner = inner
        self._sent = sent
        self._begun = self._is_page = False
        self._page = bytearray()

    @property
    def done(self) -> bool:
        """Whether the last event has been seen."""
        return self._inner.done

    def feed(self, line: bytes) -> str:
        """As `Assembly.feed`."""
        if not self._begun:
            start = line.lstrip(_BLANK)
            self._begun, self._is_page = bool(start), start.startswith(b"<")
        if not self._is_page:
            return self._inner.feed(line)
        self._page += line[: MAX_BODY_CHARS - len(self._page)]
        return ""

    def body(self) -> dict[str, Any]:
        """As `Assembly.body`.

        Raises:
            LMError: It was a page, or something else that is no JSON.
        """
        if self._is_page:
            raise unreadable(self._page.decode(errors="replace"), self._sent)
        return self._inner.body()
