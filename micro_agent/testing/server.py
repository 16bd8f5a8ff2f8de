"""A model server on loopback that speaks both wires and plays a script."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType
from typing import Any, BinaryIO, Self

from micro_agent.testing import openai_wire
from micro_agent.testing.answer import refusal
from micro_agent.testing.http1 import BadRequest, closes, read_request, write_answer
from micro_agent.testing.reply import Failure
from micro_agent.testing.script import Received, Script
from micro_agent.testing.service import CAPABILITIES, Service, Timed, wire_of
from micro_agent.testing.truncation import Truncated

BACKLOG = 512
"""Connections that may wait to be accepted: a short queue costs a client a second for each repeated SYN."""


class ModelServer:
    """An HTTP server on 127.0.0.1 that answers as OpenAI's and as Ollama's API on one port.

    It serves from its construction on until it is closed; use it as a context manager. An exception of a script's
    function answers that request with 500 and is raised again when the ``with`` block ends.

    Args:
        script: The replies, played in the order in which chat requests arrive over all connections, or a function from
            the request to the reply, called by one thread at a time.
        models: The names that are listed.
        context_length: Tokens, as ``/api/show`` tells them.
        capabilities: What ``/api/show`` says that the model can do; ``vision`` among them: it takes images.
        latency_s: Seconds before every chat answer, beside the delay of its reply.
        repeat: Start over when the script is exhausted; otherwise the answer is then 500.
        strict_models: Answer 404 to a model that is not among ``models``.
        truncate: On Ollama's wire, drop the oldest messages of a request beyond its ``num_ctx`` and say nothing, as the
            real one does: the script's function sees what is left, ``truncated`` what is not. Tokens are counted by
            `truncation.tokens_of`, and so reported.
        port: 0 for one that the operating system chooses.

    Raises:
        TypeError: Something in the list of replies is none.
        OSError: The port is taken.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        models: Sequence[str] = ("scripted",),
        context_length: int = 8192,
        capabilities: Sequence[str] = CAPABILITIES,
        latency_s: float = 0.0,
        repeat: bool = False,
        strict_models: bool = False,
        truncate: bool = False,
        port: int = 0,
    ):
        self._service = Service(
            script, models=models, context_length=context_length, capabilities=capabilities, latency_s=latency_s,
            repeat=repeat, strict_models=strict_models, truncate=truncate,
        )  # fmt: skip
        self._script_error: Exception | None = None
        self._closing = Event()
        self._connections: dict[Thread, socket.socket] = {}
        self._listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        """Where Ollama's API is."""
        self.openai_url = self.url + "/v1"
        """Where OpenAI's API is."""
        self._acceptor = Thread(target=self._accept, name="model-server", daemon=True)
        self._acceptor.start()

    @property
    def requests(self) -> list[Received]:
        """All requests so far, in the order of their arrival."""
        with self._service.lock:
            return list(self._service.requests)

    @property
    def chats(self) -> list[Received]:
        """The chat requests so far; of a list of replies, the k-th got the k-th."""
        with self._service.lock:
            return list(self._service.chats)

    @property
    def truncated(self) -> list[Truncated]:
        """What was dropped so far, one entry for each chat request that was too long."""
        with self._service.lock:
            return list(self._service.truncated)

    def messages(self, k: int) -> list[dict[str, Any]]:
        """The messages of the k-th chat request, from 0; negative from the end."""
        return self.chats[k].messages

    def close(self) -> None:
        """End all connections, delays and threads. Closing again does no harm."""
        if self._closing.is_set():
            return
        self._closing.set()
        socket.create_connection(self._listener.getsockname()).close()  # wakes accept(), on every platform
        self._acceptor.join()
        self._listener.close()
        with self._service.lock:
            threads = list(self._connections)
            for connection in self._connections.values():
                with suppress(OSError):  # the client has reset it already
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        if value is None and self._script_error is not None:
            raise self._script_error

    def _accept(self) -> None:
        while not self._closing.is_set():
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = Thread(target=self._serve, args=(connection,), name="model-server-connection", daemon=True)
            thread.start()
            with self._service.lock:  # a thread that took itself out could be missed by `close` on its last steps
                self._connections = {t: c for t, c in self._connections.items() if t.is_alive()} | {thread: connection}

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as stream, suppress(OSError):  # the client went away: nobody to tell
                while self._exchange(stream, connection):
                    pass
        finally:
            with self._service.lock:
                connection.close()

    def _exchange(self, stream: BinaryIO, connection: socket.socket) -> bool:
        """Answer one request; whether the connection stays open."""
        try:
            request = read_request(stream, connection.sendall)
        except BadRequest as bad:
            write_answer(refusal(Failure(bad.status, str(bad)), openai_wire), connection.sendall)
            return False
        if request is None:
            return False
        delay_s, answer = self._respond(request)
        if self._closing.wait(delay_s) or answer is None:
            return False
        write_answer(answer, connection.sendall)
        return answer.cut_at is None and not closes(request)

    def _respond(self, request: Received) -> Timed:
        try:
            return self._service.respond(request)
        except Exception as failure:  # noqa: BLE001 - a user's function may raise anything; it is raised again at the end
            self._script_error = self._script_error or failure
            told = f"the script raised {type(failure).__name__}: {failure}"
            return 0.0, refusal(Failure(500, told, retry_after=0), wire_of(request))
