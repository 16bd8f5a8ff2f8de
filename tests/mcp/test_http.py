"""A server behind HTTP that is rude: it forgets, floods, packs bombs, leads elsewhere."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

from micro_agent.mcp import mcp_tools
from tests.mcp.conftest import seen

TOOLS = ("echo", "forget", "flood", "bomb", "away", "refuse")


class Rude(BaseHTTPRequestHandler):
    """Answers in the first form of the protocol, with a session."""

    protocol_version = "HTTP/1.1"
    seen: list[str]
    sessions: list[str]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append(self.headers.get("authorization", ""))
        method, params = asked["method"], cast("dict[str, Any]", asked.get("params") or {})
        if method == "initialize":
            self.sessions.append(f"s{len(self.sessions)}")
            self.say(asked, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "rude", "version": "1"}}, session=self.sessions[-1])  # fmt: skip
        elif method == "tools/list":
            self.say(asked, {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]})
        elif method == "tools/call":
            getattr(self, params["name"])(asked)
        elif "id" in asked:
            self.sent(404, b"")
        else:
            self.sent(202, b"")

    def do_GET(self) -> None:
        self.sent(405, b"")

    def do_DELETE(self) -> None:
        self.sent(405, b"")

    def echo(self, asked: Any) -> None:
        self.say(asked, {"content": [{"type": "text", "text": f"in {self.headers['mcp-session-id']}"}]})

    def forget(self, asked: Any) -> None:
        self.sent(404, b"")

    def refuse(self, asked: Any) -> None:
        self.sent(500, b"")

    def flood(self, asked: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b" " * 65536)

    def bomb(self, asked: Any) -> None:
        self.sent(200, gzip.compress(b" " * 10_000_000), **{"content-encoding": "gzip"})

    server: ThreadingHTTPServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def away(self, asked: Any) -> None:
        self.sent(307, b"", location=f"http://localhost:{self.server.server_port}/elsewhere")

    def say(self, asked: Any, result: Any, session: str | None = None) -> None:
        more = {"mcp-session-id": session} if session else {}
        self.sent(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode(), **more)

    def sent(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """Where it listens."""
    Rude.seen, Rude.sessions = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rude)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    server.server_close()


def test_what_it_does_harms_nothing(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"name": "web", "url": url, "headers": {"Authorization": "Bearer k3y"}, "timeout_s": 20}
    with mcp_tools(spec, pause_s=0.01) as tools:
        tool = {name.removeprefix("web__"): tool for name, tool in tools.offered.items()}
        assert seen(tool["echo"]) == "in s0"
        for name in ("refuse", "away", "forget", "bomb", "flood"):
            assert "error" in seen(tool[name]), name
            assert seen(tool["echo"]).startswith("in s"), name
    assert len(Rude.sessions) > 1
    assert set(Rude.seen) == {"Bearer k3y"}
    assert "k3y" not in capsys.readouterr().err


def test_one_that_is_not_there_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with mcp_tools({"name": "none", "url": "http://127.0.0.1:9/mcp"}) as tools:
        assert not tools
    assert "the MCP server none is left out: " in capsys.readouterr().err
