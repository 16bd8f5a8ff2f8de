"""Who is kept out: other hosts, pages of other sites, whoever has no token; bodies that are no JSON or too large."""

import http.client
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.server.settings import ServerSettings, is_loopback, load_server_settings, require_token
from micro_agent.testing import call, text

if TYPE_CHECKING:
    from tests.server.conftest import Serving, Start

TOKEN = "a-token-for-the-tests"
ID = "0" * 32
PAGE = "https://app.example"


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


OURS = ["127.0.0.1", "localhost", "LOCALHOST:99", "[::1]", "[::1]:8765", "agent.example:80"]
NOT_OURS = [
    "evil.example", "evil.example:8765", "localhost.evil.example", "localhost.", "127.0.0.1.evil.example",
    "127.0.0.1@evil.example", "127.0.0.1:x", "localhost:", "agent.example:81", "agent.example", "[::2]", "0.0.0.0",
    "2130706433", "127.1", "*", "",
]  # fmt: skip


def test_the_names_of_this_server_are_answered(start: "Start") -> None:
    client = start(allowed_hosts="agent.example").client
    assert {host: client.get("/version", headers={"Host": host}).status_code for host in OURS} == dict.fromkeys(
        OURS, 200
    )


def test_dns_rebinding_meets_a_closed_door(start: "Start") -> None:
    client = start(allowed_hosts="agent.example:80").client
    for host in NOT_OURS:
        assert code(client.get("/healthz", headers={"Host": host})) == (403, "bad_host"), host


def test_a_request_names_one_host(start: "Start") -> None:
    serving = start()
    without = serving.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert without.startswith(b"HTTP/1.1 400 ")
    assert b'"bad_request"' in without
    two = serving.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert two.startswith(b"HTTP/1.1 400 ")


def test_the_address_that_is_listened_on_is_a_name(start: "Start") -> None:
    open_to_all = start(host="0.0.0.0", api_token=TOKEN)
    assert open_to_all.client.get("/version", headers={"Host": "192.168.1.5:8765"}).status_code == 403
    for host, name in (("192.168.1.5", "192.168.1.5:8765"), ("fd00::5", "[fd00::5]:8765")):
        serving = start(host=host, api_token=TOKEN)
        assert serving.client.get("/version", headers={"Host": name}).status_code == 200


def waiting(start: "Start", **settings: Any) -> "tuple[Serving, str]":
    serving = start([call("delete", {"path": "a"}), text("Done.")], **settings)
    return serving, serving.client.post("/ask", json={"question": "Tidy up."}).json()["trace_id"]


CROSS_SITE: dict[str, tuple[dict[str, str], int]] = {
    "another origin": ({"Origin": "https://evil.example"}, 403),
    "another port": ({"Origin": "http://127.0.0.1:1"}, 403),
    "the same name": ({"Origin": "http://localhost:{port}"}, 403),
    "encrypted": ({"Origin": "https://127.0.0.1:{port}"}, 403),
    "a file, a sandbox": ({"Origin": "null"}, 403),
    "empty": ({"Origin": ""}, 403),
    "fetched by another site": ({"Sec-Fetch-Site": "cross-site"}, 403),
    "fetched by another port": ({"Sec-Fetch-Site": "same-site"}, 403),
    "form": ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    "file upload": ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    "plain text": ({"Content-Type": "text/plain"}, 415),
    "JSON in a parameter": ({"Content-Type": "text/plain; application/json"}, 415),
    "no type": ({"Content-Type": ""}, 415),
    "another encoding": ({"Content-Type": "application/json; charset=utf-16"}, 415),
    "compressed": ({"Content-Encoding": "gzip"}, 415),
}


@pytest.mark.parametrize(("headers", "status"), CROSS_SITE.values(), ids=CROSS_SITE.keys())
def test_another_site_cannot_confirm(start: "Start", headers: dict[str, str], status: int) -> None:
    serving, run_id = waiting(start)
    sent = {name: value.format(port=serving.port) for name, value in headers.items()}
    answer = serving.client.post(
        f"/runs/{run_id}/confirm", content=b'{"decision": "approve"}',
        headers={"Content-Type": "application/json", **sent},
    )  # fmt: skip
    assert answer.status_code == status
    assert serving.deleted == []
    assert len(serving.client.get("/approvals").json()["approvals"]) == 1


def test_a_page_of_the_server_itself_may(start: "Start") -> None:
    serving, run_id = waiting(start)
    answer = serving.client.post(
        f"/runs/{run_id}/confirm", json={"decision": "approve"},
        headers={
            "Origin": f"http://127.0.0.1:{serving.port}", "Sec-Fetch-Site": "same-origin",
            "Content-Type": 'Application/JSON ; charset="UTF-8"',
        },
    )  # fmt: skip
    assert (answer.status_code, serving.deleted) == (200, ["a"])


def test_two_origins_or_two_types_are_refused(start: "Start") -> None:
    serving = start(allowed_origins=PAGE)
    client = serving.client
    both = [("Origin", PAGE), ("Origin", "https://evil.example"), ("Content-Type", "application/json")]
    assert code(client.post("/ask", content=b"{}", headers=both)) == (403, "cross_site")
    types = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    assert code(client.post("/ask", content=b"{}", headers=types)) == (415, "unsupported_media_type")


def test_an_origin_that_is_allowed_can_ask(start: "Start") -> None:
    serving = start([text("Hello.")], allowed_origins=f"{PAGE}, https://other.example", api_token=TOKEN)
    preflight = serving.client.options(
        "/ask", headers={
            "Origin": PAGE, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type", "Authorization": "",
            "Sec-Fetch-Site": "cross-site",
        },
    )  # fmt: skip
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, PAGE)
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in preflight.headers
    asked = serving.client.post(
        "/ask", json={"question": "Hello?"}, headers={"Origin": PAGE, "Sec-Fetch-Site": "cross-site"}
    )
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, PAGE)
    refused = serving.client.post("/ask", json={}, headers={"Origin": PAGE, "Authorization": "Bearer wrong"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


LOCAL_PAGES = ["http://localhost:5173", "http://127.0.0.1:1", "https://127.0.0.1:8443", "http://[::1]:3000"]
ELSEWHERE = ["http://localhost.evil.example:5173", "http://127.0.0.1.evil.example", "http://10.0.0.1:5173", "null"]


@pytest.mark.parametrize("origin", LOCAL_PAGES)
def test_a_front_end_of_this_machine_can_ask_where_that_is_allowed(start: "Start", origin: str) -> None:
    serving = start([text("Hello.")], allow_loopback_origins=True, api_token=TOKEN)
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    sent = {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    preflight = serving.client.options("/ask", headers={**sent, **asked, "Authorization": ""})
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, origin)
    answer = serving.client.post("/ask", json={"question": "Hello?"}, headers=sent)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
    assert start().client.post("/ask", json={"question": "?"}, headers=sent).status_code == 403


@pytest.mark.parametrize("origin", ELSEWHERE)
def test_no_other_front_end_can(start: "Start", origin: str) -> None:
    client = start(allow_loopback_origins=True).client
    for headers in ({"Origin": origin}, {"Origin": origin, "Sec-Fetch-Site": "same-site"}):
        answer = client.post("/ask", json={"question": "?"}, headers=headers)
        assert code(answer) == (403, "cross_site")
        assert "access-control-allow-origin" not in answer.headers


def test_other_origins_get_no_preflight(start: "Start") -> None:
    for settings in ({}, {"allowed_origins": PAGE}):
        answer = start(**settings).client.options(
            "/ask", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        )
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def routes(serving: "Serving") -> Iterator[tuple[str, str]]:
    document = serving.client.get("/openapi.json").json()
    yield "get", "/openapi.json"
    yield "get", "/no/such/path"
    for path, item in document["paths"].items():
        yield from ((method, path.replace("{run_id}", ID)) for method in item)


WRONG: dict[str, list[tuple[str, bytes]]] = {
    "none": [],
    "empty": [("Authorization", b"")],
    "scheme alone": [("Authorization", b"Bearer")],
    "empty token": [("Authorization", b"Bearer ")],
    "another": [("Authorization", b"Bearer wrong")],
    "longer": [("Authorization", f"Bearer {TOKEN}x".encode())],
    "shorter": [("Authorization", f"Bearer {TOKEN[:-1]}".encode())],
    "other case": [("Authorization", f"Bearer {TOKEN.upper()}".encode())],
    "other scheme": [("Authorization", f"Basic {TOKEN}".encode())],
    "no scheme": [("Authorization", TOKEN.encode())],
    "bytes": [("Authorization", b"Bearer \xff\xfe\x80")],
    "unicode": [("Authorization", f"Bearer {TOKEN}\u00e9".encode())],
    "twice": [("Authorization", f"Bearer {TOKEN}".encode()), ("Authorization", f"Bearer {TOKEN}".encode())],
    "in another header": [("X-Api-Key", TOKEN.encode()), ("Cookie", f"token={TOKEN}".encode())],
}


def test_without_the_token_every_route_but_health_is_closed(start: "Start", caplog: pytest.LogCaptureFixture) -> None:
    serving = start(api_token=TOKEN)
    found = list(routes(serving))
    assert len(found) > 12
    for name, headers in WRONG.items():
        for method, path in found:
            status, told, body = bare(serving, method, f"{path}?token={TOKEN}&access_token={TOKEN}", headers)
            if path in ("/health", "/healthz"):
                assert status == 200
                continue
            assert (status, json.loads(body)["error"]["code"]) == (401, "unauthorized"), (name, path)
            assert told["WWW-Authenticate"] == "Bearer"
            assert TOKEN.encode() not in body
    assert TOKEN not in caplog.text


def bare(serving: "Serving", method: str, path: str, headers: list[tuple[str, bytes]]) -> tuple[int, Any, bytes]:
    """A request with these headers as they are: clients refuse to send some of them."""
    connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=20)
    connection.putrequest(method.upper(), path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def test_the_token_opens(start: "Start") -> None:
    client = start(api_token=TOKEN).client
    for value in (f"Bearer {TOKEN}", f"bearer  {TOKEN}"):
        assert client.get("/runs", headers={"Authorization": value}).status_code == 200


def test_a_body_has_bounds(start: "Start") -> None:
    client = start([text("Fine.")] * 2, max_body=200).client
    fits = b'{"question": "' + b"x" * 184 + b'"}'
    for content in (fits, pieces(fits)):
        answer = client.post("/ask", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 200
    for content in (fits + b" ", pieces(fits + b" ")):
        answer = client.post("/ask", content=content, headers={"Content-Type": "application/json"})
        assert code(answer) == (413, "too_large")


def pieces(content: bytes) -> Iterator[bytes]:
    """Sent in chunks, without a length."""
    yield content[:50]
    yield content[50:]


def test_a_body_without_end_is_refused_before_its_end(start: "Start") -> None:
    serving = start(max_body=1000)
    head = (
        b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = serving.raw(head + b"400\r\n" + b" " * 0x400 + b"\r\n", until=b"too_large")
    assert answer.startswith(b"HTTP/1.1 413 ")
    told = serving.raw(head.replace(b"Transfer-Encoding: chunked", b"Content-Length: 9999999999"), until=b"too_large")
    assert told.startswith(b"HTTP/1.1 413 ")


def test_a_client_that_sends_too_much_still_reads_why(start: "Start") -> None:
    client = start(max_body=1000).client
    answer = client.post("/ask", content=b" " * 20_000_000, headers={"Content-Type": "application/json"})
    assert code(answer) == (413, "too_large")
    assert client.get("/healthz").status_code == 200


def test_every_response_forbids_guessing_and_storing(start: "Start") -> None:
    serving = start([text("Fine.")])
    answers = [
        serving.client.post("/ask", json={"question": "Fine?"}), serving.client.get("/nothing"),
        serving.client.get("/version", headers={"Host": "evil.example"}),
    ]  # fmt: skip
    for answer in answers:
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        assert answer.headers.get_list("cache-control") == ["no-store"]


@given(data=st.binary(max_size=200))
def test_no_bytes_in_its_headers_break_a_check(data: bytes) -> None:
    """The checks alone, on headers that no server would let through either."""
    import asyncio

    from micro_agent.server.security import Entry, Perimeter

    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        raise AssertionError("there is no body")

    async def send(message: Any) -> None:
        sent.append(message)

    settings = ServerSettings(api_token="x")  # pyright: ignore[reportArgumentType]
    names = (b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-type")
    headers = [(name, data) for name in names]
    scope = {"type": "http", "path": "/runs", "scheme": "http", "headers": headers}
    asyncio.run(Perimeter(Entry(app, settings), settings)(scope, receive, send))
    assert sent[0]["status"] in (400, 401, 403)


def test_other_addresses_than_loopback_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "agent.example"):
        with pytest.raises(ConfigurationError, match="MICRO_AGENT_API_TOKEN"):
            require_token(ServerSettings(host=host))
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        assert is_loopback(host)
        require_token(ServerSettings(host=host))
    monkeypatch.setenv("MICRO_AGENT_API_TOKEN", TOKEN)
    require_token(load_server_settings(host="0.0.0.0"))


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_server_settings() == ServerSettings(
        host="127.0.0.1", port=8000, api_token=None, allowed_hosts=(), allowed_origins=(), max_body=2**20,
        max_running=8, grace=10,
    )  # fmt: skip
    for name, value in {
        "API_TOKEN": TOKEN, "ALLOWED_HOSTS": "Agent.example, box:8080,", "ALLOWED_ORIGINS": PAGE, "PORT": " ",
        "MAX_BODY": "100", "MAX_RUNNING": "2", "GRACE": "0.5", "HOST": "::1",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"MICRO_AGENT_{name}", value)
    found = load_server_settings(port=1, host=None)
    assert TOKEN not in repr(found)
    assert found.api_token is not None
    assert found.api_token.get_secret_value() == TOKEN
    assert (found.host, found.port, found.max_body, found.max_running, found.grace) == ("::1", 1, 100, 2, 0.5)
    assert (found.allowed_hosts, found.allowed_origins) == (("agent.example", "box:8080"), (PAGE,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALLOWED_HOSTS", "http://agent.example"), ("ALLOWED_HOSTS", "*"), ("ALLOWED_ORIGINS", "*"),
        ("ALLOWED_ORIGINS", "null"), ("ALLOWED_ORIGINS", "https://app.example/page"), ("PORT", "70000"),
        ("MAX_BODY", "0"), ("API_TOKEN", "two words"), ("API_TOKEN", "schlüssel"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"MICRO_AGENT_{name}", value)
    with pytest.raises(ConfigurationError) as caught:
        load_server_settings()
    line = str(caught.value)
    assert line.startswith(f"MICRO_AGENT_{name} is ")
    assert "; allowed: " in line
    assert (value in line) == (name != "API_TOKEN")
    assert "\n" not in line


def test_an_empty_connection_is_nothing_to_worry_about(start: "Start") -> None:
    serving = start()
    connection = http.client.HTTPConnection("127.0.0.1", serving.port)
    connection.connect()
    connection.close()
    assert serving.client.get("/healthz").status_code == 200
