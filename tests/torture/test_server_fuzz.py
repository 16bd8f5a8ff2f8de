"""The server under fire: schemathesis with all of its checks, and bytes that are no HTTP. It goes on answering."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent.testing import Received, Reply, call, text
from micro_agent.traces import TraceStore
from tests.torture.programs import program

if TYPE_CHECKING:
    from tests.server.conftest import Serving

pytestmark = pytest.mark.torture

TOKEN = "a-token-for-the-tests"
SECONDS = 15


def _fixtures() -> Any:
    spec = spec_from_file_location("server_fixtures", Path(__file__).parents[1] / "server" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


start = _fixtures().start


def some_pause() -> Callable[[Received], Reply]:
    """A model that wants to delete something now and then."""
    count = 0

    def reply(_: Received) -> Reply:
        nonlocal count
        count += 1
        return text("Fine.") if count % 5 else call("delete", {"path": "x"})

    return reply


def schemathesis(document: bytes, serving: "Serving", directory: Path, *options: str) -> str:
    """What it prints; the test fails when it finds anything."""
    (directory / "openapi.json").write_bytes(document)
    done = subprocess.run(
        [
            program("schemathesis"), "run", directory / "openapi.json",
            "--url", f"http://127.0.0.1:{serving.port}", "--checks", "all", "--max-time", str(SECONDS), "--seed", "1",
            "--request-timeout", "20", "--no-color", "--warnings", "off", *options,
        ],
        cwd=directory, capture_output=True, text=True, timeout=SECONDS * 5, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("token", [TOKEN, None], ids=["token", "no token"])
def test_schemathesis_finds_nothing(start: "Callable[..., Serving]", tmp_path: Path, token: str | None) -> None:
    serving = start(some_pause(), api_token=token)
    document = serving.client.get("/openapi.json").content
    sent = ["--header", f"Authorization: Bearer {token}"] if token else []
    operations = sum(map(len, json.loads(document)["paths"].values()))
    assert f"Tested: {operations}" in schemathesis(document, serving, tmp_path, *sent)
    assert serving.client.get("/health").json()["status"] == "ok"


def test_without_the_token_schemathesis_gets_nowhere(start: "Callable[..., Serving]", tmp_path: Path) -> None:
    serving = start(some_pause(), api_token=TOKEN)
    document = serving.client.get("/openapi.json").content
    schemathesis(document, serving, tmp_path)
    assert serving.client.get("/runs").json()["runs"] == []


def bad_http() -> Iterator[bytes]:
    host = b"Host: localhost\r\n"
    yield b"GET /version HTTP/1.1\nHost: localhost\n\n"
    yield b"GET /version\r\n"
    yield b"\x00\x01\x02\r\n\r\n"
    yield b"GET /version HTTP/1.1\r\n" + host + b"X-Nul: a\x00b\r\n\r\n"
    yield b"GET /version HTTP/1.1\r\n" + host + b"X-Folded: a\r\n b\r\n\r\n"
    yield b"GET /version HTTP/1.1\r\n" + host + b"X-Huge: " + b"x" * 1_000_000 + b"\r\n\r\n"
    yield b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n" + host + b"\r\n"
    yield b"GET /version HTTP/9.9\r\n" + host + b"\r\n"
    yield b"GET http://evil.example/version HTTP/1.1\r\n" + host + b"\r\n"
    yield b"POST /ask HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield b"POST /ask HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"
    yield b"POST /ask HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n"
    yield b"POST /ask HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"
    yield b"GET /version HTTP/1.1\r\n" + host + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def refused(serving: "Serving", data: bytes) -> bytes:
    """What comes for bytes that the client then leaves at that."""
    with socket.create_connection(("127.0.0.1", serving.port), timeout=20) as connection:
        found = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                found += piece
        except TimeoutError:
            raise
        except OSError:  # the server closed it: it had read enough
            pass
    return found


@pytest.mark.parametrize("data", list(bad_http()), ids=lambda data: ascii(data[:40]))
def test_bad_http_harms_nobody_else(start: "Callable[..., Serving]", data: bytes) -> None:
    serving = start()
    answer = refused(serving, data)
    assert b" 500 " not in answer[:20]
    assert serving.client.get("/healthz").status_code == 200


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from([b"/ask", b"/ask/stream", b"/runs", b"/runs/x/confirm"]) | st.binary(max_size=40),
    head=st.lists(
        st.tuples(st.sampled_from([b"Content-Type", b"Origin", b"Cookie"]), st.binary(max_size=30)), max_size=3
    ),
    body=st.binary(max_size=200) | st.sampled_from([b"{", b'{"question": "?"}', b"[" * 9999, b"NaN", b"1e400"]),
)  # fmt: skip
def test_no_bytes_end_the_server(serving: "Serving", path: bytes, head: list[tuple[bytes, bytes]], body: bytes) -> None:
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: localhost", b"Connection: close"]
    lines += [name + b": " + value for name, value in head]
    data = b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", body])
    assert b" 500 " not in refused(serving, data)[:20]
    assert serving.client.get("/healthz").status_code == 200


@pytest.fixture
def serving(start: "Callable[..., Serving]") -> "Serving":
    """One server for all of the examples."""
    return start(some_pause())


def test_clients_that_dawdle_keep_nobody_waiting(start: "Callable[..., Serving]", store: TraceStore) -> None:
    serving = start([text("Fine.")])
    slow = [socket.create_connection(("127.0.0.1", serving.port)) for _ in range(300)]
    try:
        for place, connection in enumerate(slow):
            connection.sendall(b"POST /ask HTTP/1.1\r\nHost: localhost\r\n"[: 5 + place % 30])
        for connection in slow[::3]:
            connection.sendall(b"X")
        answer = serving.client.post("/ask", json={"question": "Fine?"})
        assert answer.json()["answer"] == "Fine."
    finally:
        for connection in slow:
            connection.close()
    assert serving.client.get("/healthz").status_code == 200
