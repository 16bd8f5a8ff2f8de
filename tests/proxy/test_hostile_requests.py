"""Requests that a web page, a program on the way or a clumsy client could send: none of them reaches the upstream."""

import socket

import pytest

from micro_agent.testing import Received
from tests.each import each
from tests.proxy.conftest import CALL, CHAT, Start, asking, played

pytestmark = pytest.mark.torture

GOOD = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": "2"}
CHUNKED = {"Content-Length": None, "Transfer-Encoding": "chunked"}


def answered(url: str, line: str, headers: dict[str, str | None], body: bytes = b"{}", more: bytes = b"") -> int:
    """The status of the answer to a request as it stands; a header that is ``None`` is left out."""
    lines = [f"{name}: {value}\r\n" for name, value in (GOOD | headers).items() if value is not None]
    head = f"{line} HTTP/1.1\r\n{''.join(lines)}".encode("latin-1") + more + b"Connection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
        connection.sendall(head + body)
        return int(connection.makefile("rb").readline().split()[1])


def fine(connection: socket.socket, _: Received) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")


def refused(url: str, line: str = f"POST {CHAT}", more: bytes = b"", **headers: str | None) -> bool:
    """Whether a request is refused."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return 400 <= answered(url, line, named, more=more) < 500


def test_what_a_page_of_another_site_can_send_goes_nowhere(start: Start) -> None:
    with played(fine) as server:
        url = start(server.url, key="k").url
        assert not refused(url)
        assert len(server.requests) == 1
        for host in ("evil.example", "localhost.", "127.0.0.1@evil.example", "127.0.0.1.evil.example", "[::1]x"):
            assert refused(url, Host=host)
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"):
            assert refused(url, Origin=origin)
        for site in ("cross-site", "same-site"):
            assert refused(url, "GET /v1/models", Sec_Fetch_Site=site)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "text/plain, application/json", None):
            assert refused(url, Content_Type=kind)
        assert len(server.requests) == 1


def test_nothing_but_what_is_below_v1_is_passed_on(start: Start) -> None:
    paths = ["/v1/../api", "/v1/%2e%2e/api", "/v1/..%5capi", "/v1/a/%2e./../api", "//v1/x", "/api/chat",
             "http://evil.example/v1/models", "*"]  # fmt: skip
    with played(fine) as server:
        url = start(server.url).url
        assert [path for path in paths if not refused(url, f"POST {path}")] == []
        assert server.requests == []


def test_a_request_has_one_end(start: Start) -> None:
    with played(fine) as server:
        url = start(server.url).url
        assert refused(url, Transfer_Encoding="chunked")
        for value in ("xchunked", "chunked, identity", "identity"):
            assert refused(url, Content_Length=None, Transfer_Encoding=value)
        assert refused(url, Content_Length="+2")
        assert refused(url, Content_Length="99999999999")
        for more in (
            b"Content-Length: 3\r\n", b"Host: 127.0.0.1\r\n", b"X-A : b\r\n", b"X-A: b\rX-B: c\r\n", b"X-A: b\0\r\n"
        ):  # fmt: skip
            assert refused(url, more=more)
        assert refused(url, Content_Encoding="gzip")
        assert server.requests == []


@each(("given", "sent"), [("b\r\n c: d", "b c: d"), ("b\r\n\tX-Injected: d", "b X-Injected: d")])
def test_a_folded_header_is_one_header(given: str, sent: str, start: Start) -> None:
    with played(fine) as server:
        assert answered(start(server.url).url, f"POST {CHAT}", {"X-A": given}) == 200
    (request,) = server.requests
    assert (request.headers["x-a"], "x-injected" in request.headers) == (sent, False)


def test_keys_stand_in_no_record_and_no_figure(start: Start) -> None:
    headers = {"Authorization": "Bearer key-1", "X-Api-Key": "key-2", "Cookie": "a=key-3"}
    body = b'{"choices": [{"message": {"role": "assistant", "content": "%b"}, "finish_reason": "stop"}]}'

    def play(connection: socket.socket, _: Received) -> None:
        said = body % CALL.replace('"', '\\"').encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(said) + said)

    with played(play) as server:
        through = start(server.url, key="key-5")
        through.post(asking(), f"{CHAT}?api-key=key-4", headers=headers)
        kept = "".join(run.model_dump_json() for run in through.runs())
        assert '"add"' in kept
        assert "key-" not in kept + through.client.get("/metrics").text
