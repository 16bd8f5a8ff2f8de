"""What the tests of several servers share: servers that hold replies back, what they tell, a run of two calls."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from typing import Any

from micro_agent.testing import Received, Reply, call, text

REPLY = {"choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}], "model": "m"}


class Held:
    """A server that tells what it is given to tell, and holds each reply back until it is let go."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers, self.let_go, self.url = {"/v1/chat/completions": REPLY, **answers}, Event(), ""
        self.asked: list[str] = []
        self._changed, self._under_way = Condition(), 0
        self.most = 0

    def holds(self, count: int) -> None:
        """Wait until so many requests are under way."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._under_way >= count, 20), self._under_way

    @contextmanager
    def holding(self) -> Generator[None]:
        with self._changed:
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            self._changed.notify_all()
        assert self.let_go.wait(20)
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1


@contextmanager
def held(answers: Mapping[str, Any] | None = None, *, free: bool = False, port: int = 0) -> Generator[Held]:
    """Such a server; ``free``: it holds nothing back. What it has no answer for is 404."""
    state = Held(answers or {})
    if free:
        state.let_go.set()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._send()

        def do_POST(self) -> None:  # - the name that http.server asks for
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with state.holding():
                self._send()

        def _send(self) -> None:
            body = json.dumps(state.answers.get(self.path)).encode()
            self.send_response(200 if self.path in state.answers else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    server = Server(("127.0.0.1", port), Answering)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield state
    finally:
        state.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def listed(model: str = "m", **entry: Any) -> dict[str, Any]:
    """What ``/v1/models`` answers."""
    return {"/v1/models": {"object": "list", "data": [{"id": model, "object": "model", **entry}]}}


def two_calls(request: Received) -> Reply:
    """Calls ``work`` once, then says hello."""
    if request.asks_if_final:
        return text('{"done": true}')
    worked = any(message["role"] == "tool" for message in request.messages)
    return text("hello") if worked or not (request.body or {}).get("tools") else call("work", {})
