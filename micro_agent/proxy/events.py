"""Server-sent events cut out of the bytes of a stream, each with all of its bytes."""

import re

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
MOST = 16 * 1024 * 1024
"""Bytes without the end of an event, or held back: more goes out as it came."""


class Events:
    """Takes bytes as they arrive and gives whole events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The events that end with these bytes, each with the blank line that ends it."""
        found, at, search = list[bytes](), 0, max(0, len(self._rest) - 3)
        self._rest += data
        while (end := _END.search(self._rest, max(at, search))) is not None:
            found.append(bytes(self._rest[at : end.end()]))
            at = end.end()
        del self._rest[:at]
        if len(self._rest) > MOST:
            found.append(self.rest())
        return found

    def rest(self) -> bytes:
        """What is left without an end."""
        left = bytes(self._rest)
        self._rest.clear()
        return left


def comment(text: str) -> bytes:
    """A comment, which no client takes for an event."""
    return f": {text}\n\n".encode()
