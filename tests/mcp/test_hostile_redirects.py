"""A server behind a URL that sends a client elsewhere: its headers, which may hold keys, stay with it."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from micro_agent.mcp import mcp_tools

pytestmark = pytest.mark.torture


@contextmanager
def server(location: str | None, heard: list[str | None]) -> Generator[int]:
    """A server that sends everybody there, or refuses; ``heard`` takes the authorization of each request."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            heard.append(self.headers.get("Authorization"))
            self.send_response(404 if location is None else 307)
            if location is not None:
                self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    served = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served.server_port
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


def test_no_redirect_takes_a_key_elsewhere() -> None:
    elsewhere: list[str | None] = []
    with server(None, elsewhere) as other:
        for to in (f"http://127.0.0.1:{other}/", f"http://localhost:{other}/", f"http://u:p@127.0.0.1:{other}/",
                   "file:///etc/passwd"):  # fmt: skip
            here: list[str | None] = []
            with server(to, here) as port:
                given = {"name": "moved", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"Authorization": "key"}}
                with mcp_tools(given) as tools:
                    assert list(tools) == []
            assert set(here) == {"key"}
    assert elsewhere == []
