"""What the synchronous and the asynchronous way to a model server share: address, deadline, errors, lines."""

from collections.abc import Generator
from contextlib import contextmanager
from ipaddress import ip_address
from time import monotonic
from typing import Any, Self
from urllib.parse import urlsplit

from dspy import LMTimeoutError, LMTransportError

from micro_agent.dspy_internals import ConnectError, ReadTimeout, TransportError, TransportRequest, WriteTimeout
from micro_agent.errors import ConfigurationError
from micro_agent.models.addresses import http_url, shown
from micro_agent.models.failures import marked
from micro_agent.models.scope import current

MAX_CONNECTIONS = 512
"""Requests in flight per engine; more wait for one to end."""
CONNECT_S = 10.0


class Deadline(float):
    """The seconds that an exchange may take, as a number, and the instant ``at`` (`time.monotonic`) that ends it."""

    at: float

    @classmethod
    def of(cls, timeout_s: float) -> Self:
        """The engine's timeout or the bound of the call under way, whichever ends first."""
        remaining = current().remaining()
        deadline = cls(timeout_s if remaining is None else min(timeout_s, remaining))
        deadline.at = monotonic() + deadline
        return deadline

    def left(self) -> float:
        """Seconds until it, not below 0."""
        return max(0.0, self.at - monotonic())


def is_loopback(url: str) -> bool:
    """Whether ``url`` is on this machine, where no proxy can reach it."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


class Endpoint:
    """One path of one server, and how it is asked.

    Args:
        base_url: An ``http://`` or ``https://`` URL without a password or a query.
        path: What is posted to, such as ``/chat/completions``.
        timeout_s: Seconds for a whole exchange.
        headers: Beside those of HTTP itself.

    Raises:
        ConfigurationError: The URL is none.
    """

    def __init__(self, base_url: str, path: str, *, timeout_s: float, headers: list[tuple[str, str]]):
        try:
            self.base_url = http_url(base_url)
        except ValueError as error:
            raise ConfigurationError(f"the base URL is {shown(base_url)}: {error}") from error
        self.url = self.base_url + path
        self.timeout_s = timeout_s
        self.headers = dict(headers)
        self._headers = [("Content-Type", "application/json"), *headers]

    def request(self, body: bytes) -> tuple[TransportRequest, Deadline]:
        """The request for ``body``, and the deadline of its exchange.

        Raises:
            LMTimeoutError: It has passed already.
        """
        deadline = Deadline.of(self.timeout_s)
        if not deadline:
            raise timed_out(self.url, deadline)
        connect_s = min(CONNECT_S, deadline)
        told = current().traceparent
        headers = [*self._headers, ("traceparent", told)] if told else self._headers
        return TransportRequest("POST", self.url, headers, body, connect_s, deadline, deadline), deadline

    def pooling(self) -> dict[str, Any]:
        """The settings of a transport for this endpoint."""
        return {
            "max_connections": MAX_CONNECTIONS,
            "pool_timeout": self.timeout_s,
            "user_agent": "micro-agent",
            "trust_env": not is_loopback(self.url),
        }


def timed_out(url: str, deadline: Deadline) -> LMTimeoutError:
    """The error of an exchange that took too long."""
    return LMTimeoutError(f"no reply from {url} within {deadline:.3g} s: allow more time or take a smaller model")


@contextmanager
def translating(url: str, deadline: Deadline) -> Generator[None, None, None]:
    """Turn the transport's errors into public ones. Only the transport's own code may run inside."""
    try:
        yield
    except (ReadTimeout, WriteTimeout, TimeoutError) as error:
        raise timed_out(url, deadline) from error
    except ConnectError as error:
        if not deadline.left():
            raise timed_out(url, deadline) from error
        raise LMTransportError(f"cannot reach {url}: is the server running? ({error})") from error
    except (TransportError, OSError) as error:
        text = f"the connection to {url} broke before the reply was complete: try again ({error})"
        raise marked(LMTransportError(text), reached=True) from error


class Lines:
    """Cuts chunks into lines, each with its line feed; a last line without one did not arrive as a whole."""

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes."""
        lines = chunk.split(b"\n")
        self._open.append(lines[0])
        if len(lines) == 1:
            return []
        complete = [b"".join(self._open), *lines[1:-1]]
        self._open = [lines[-1]]
        return [line + b"\n" for line in complete]

    def end(self) -> list[bytes]:
        """What is left, if anything."""
        rest = b"".join(self._open)
        return [rest] if rest else []
