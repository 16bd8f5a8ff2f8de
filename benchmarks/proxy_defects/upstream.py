"""The server behind the clients, or behind the proxy: OpenAI's two wires and Anthropic's, whole and streamed.

`python -m benchmarks.proxy_defects.upstream` prints its URL and serves until standard input closes. ``GET /log?MODEL``
tells what was asked under a name.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

from benchmarks.proxy_defects import chat, messages, responses
from benchmarks.proxy_defects.said import Ask, Said, compact
from benchmarks.proxy_defects.scripted import Conversation, Scripted

WIRES: dict[str, Any] = {wire.PATH: wire for wire in (chat, responses, messages)}
SCRIPTED, LOCK = Scripted(), Lock()
MODELS = {"object": "list", "data": [{"id": "weak", "object": "model", "created": 1, "owned_by": "me", "more": [1.50]}]}


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """The models, and the log."""
        at = urlsplit(self.path)
        if at.path == "/v1/models":
            self._whole(200, compact(MODELS))
        elif at.path == "/log":
            with LOCK:
                told = compact(asdict(SCRIPTED.conversations.get(unquote(at.query), Conversation())))
            self._whole(200, told)
        else:
            self._whole(404, b'{"error":{"message":"no such path"}}')

    def do_POST(self) -> None:
        """A reply of the scripted model."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        path = urlsplit(self.path).path.removesuffix("/")  # with it, the proxy passes on what it does not read
        if path not in WIRES:
            self._whole(404, b'{"error":{"message":"no such path"}}')
            return
        wire: Any = WIRES[path]
        body: dict[str, Any] = json.loads(raw)
        model, streamed = str(body.get("model", "")), body.get("stream") is True
        if model.startswith("pace:"):
            self._pace(wire, model, streamed)
            return
        key = self.headers.get("Authorization") or self.headers.get("x-api-key") or ""
        with LOCK:
            said, serial = SCRIPTED.answer(path, body, raw.decode(), key)
        ask = Ask(model, serial, "include_usage" in json.dumps(body.get("stream_options")))
        if said.refusal is not None and not (streamed and said.refusal.after):
            told = wire.error(said.refusal.body["error"]["message"], said.refusal.status)
            told["error"] |= {k: v for k, v in said.refusal.body["error"].items() if k not in ("message", "type")}
            self._whole(said.refusal.status, compact(told))
        elif streamed:
            self._stream(wire.events(said, ask))
        else:
            self._whole(200, compact(wire.whole(said, ask)))

    def _pace(self, wire: Any, model: str, streamed: bool) -> None:
        _, count, ms, *_ = model.split(":")
        ask, said = Ask(model, 1), Said(text="word " * int(count))
        with LOCK:
            conversation = SCRIPTED.conversations.setdefault(model, Conversation())
            conversation.requests.append(("", ""))
        if not streamed:
            self._whole(200, compact(wire.whole(said, ask)))
            return
        try:
            self._stream(wire.events(said, ask), lambda: time.sleep(int(ms) / 1000))
        except OSError:
            with LOCK:
                conversation.gone += 1
            self.close_connection = True

    def _whole(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-request-id", "req-1")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[bytes], wait: Callable[[], None] = lambda: None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            wait()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")


class Upstream(ThreadingHTTPServer):
    """Hundreds may connect at once."""

    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of the server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving() -> Generator[str]:
    """The server in a process of its own; gives its URL, without ``/v1``."""
    command = [sys.executable, "-m", "benchmarks.proxy_defects.upstream"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def log(url: str, model: str) -> dict[str, Any]:
    """What was asked of that server under a name."""
    with urlopen(f"{url}/log?{model}") as answer:
        return json.load(answer)


def main() -> None:
    """Serve until standard input closes."""
    from threading import Thread

    with Upstream(("127.0.0.1", 0), Exchange) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
