"""Who may use the proxy, what is on record, what is counted; and that what nobody can read goes through."""

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.proxy.engine import Options, Proxy
from micro_agent.proxy.records import Recorder
from micro_agent.proxy.upstream import HttpUpstream
from micro_agent.proxy.wires.chat import ChatWire
from micro_agent.replay import describe
from micro_agent.run import Run
from micro_agent.testing import ModelServer, Received, text
from micro_agent.traces import TraceStore
from tests.each import each
from tests.proxy.conftest import CALL, CHAT, HEAD, Start, asking, piece, played, told

KEY = "sk-a-key-that-nobody-may-keep-1234"


def test_a_request_is_on_record_with_its_repairs(start: Start, store: TraceStore) -> None:
    with ModelServer([text(CALL), text("Three."), text(CALL)]) as model:
        through = start(model.url, headers={"Authorization": f"Bearer {KEY}", "X-Api-Key": KEY})
        answered = through.post(asking())
        parts = [{"type": "text", "text": "And what is it?"}, {"type": "other"}]
        through.post(asking(messages=[{"role": "user", "content": parts}, {"role": "assistant", "content": "?"}]))
        through.post({"model": "scripted", "messages": [], "stream": True})
        assert model.chats[0].headers["authorization"] == f"Bearer {KEY}"
        assert model.chats[0].headers["x-api-key"] == KEY
        first, second, third = through.runs()
    assert answered.headers["x-micro-agent-run"] == first.id
    lines = "\n".join(describe(first))
    assert 'Question: What is 1 + 2?\n\n1. add\n     read from the text: <tool_call>{"name"' in lines
    assert "     repaired: dialect:hermes, number_string, markup\n" in lines
    assert "Completed (proxied)" in lines
    assert (second.question, second.answer, second.usage.input_tokens) == ("And what is it?", "Three.", 10)
    assert (third.answer, third.question, third.model) == (CALL, "", "scripted")
    files = [*store.directory.rglob("*"), *store.state_dir.rglob("*")]
    assert all(KEY not in path.read_text() for path in files if path.is_file())
    with ModelServer([text("Three.")]) as model:
        quiet = start(model.url, record=False)
        assert "x-micro-agent-run" not in quiet.post(asking(stream=True)).headers
    assert len(list(store.ids())) == 3


def test_what_cannot_be_recorded_goes_through(start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "traces").write_text("a file where the folder should be")
    with ModelServer([text("Three.")], repeat=True) as model:
        through = start(model.url)
        for _ in range(2):
            assert through.post(asking()).status_code == 200
            through.settle()
        assert through.count('failures_total{kind="record"}') == 2
    assert caplog.text.count("requests are not recorded") == 1


def test_a_record_that_cannot_be_encoded_takes_no_other_with_it(store: TraceStore) -> None:
    failed = list[int]()

    async def write() -> None:
        recorder = Recorder(store, lambda: failed.append(1))
        for run in (Run(question="?", inputs={"not JSON": object()}), Run(question="Fine?")):
            recorder.write(run)
        await recorder.settled()

    asyncio.run(write())
    assert (failed, [store.load(run_id).question for run_id in store.ids()]) == ([1], ["Fine?"])


def test_what_is_counted(start: Start) -> None:
    with ModelServer([text(CALL), text("Three.")]) as model:
        through = start(model.url)
        through.post(asking())
        through.post(asking(stream=True))
        assert through.client.get("/v1/models?x=1").json()["data"][0]["id"] == "scripted"
        assert model.requests[-1].path == "/v1/models?x=1"
        assert through.client.get("/healthz").json() == {"status": "ok"}
        assert through.count(f'requests_total{{path="{CHAT}",status="200"}}') == 2
        assert through.count('requests_total{path="other",status="200"}') == 1
        assert through.count('repairs_total{kind="markup"}') == 1
        assert through.count("under_way") == 0
        assert "# TYPE micro_agent_proxy_requests_total counter" in through.client.get("/metrics").text


def test_who_may_use_it(start: Start) -> None:
    with ModelServer([text("Three.")], repeat=True) as model:
        through = start(model.url, api_token="a-token-of-the-proxy", max_body=2000, key="upstream-key")
        mine = {"Authorization": "Bearer a-token-of-the-proxy"}
        cases: list[tuple[dict[str, Any], int]] = [
            ({}, 401),
            ({"headers": mine}, 200),
            ({"headers": {**mine, "Host": "evil.example"}}, 403),
            ({"headers": {**mine, "Origin": "https://evil.example"}}, 403),
            ({"headers": {**mine, "Content-Type": "text/plain"}}, 415),
            ({"headers": mine, "json": {"model": "x" * 3000}}, 413),
        ]

        @each(["more", "status"], cases)
        def holds(more: dict[str, Any], status: int) -> None:
            sent: dict[str, Any] = {"json": asking(), **more}
            assert through.client.post(CHAT, **sent).status_code == status

        holds()
        assert len(model.chats) == 1
        assert model.chats[0].headers["authorization"] == "Bearer upstream-key"  # and not the token
        for path in (
            "/v1/../api/tags",
            "/v1/%2e%2e/api/tags",
            "/v1/..%5capi",
            "/v1/..%2fapi/tags",
            "/v1/a%3f/../../api/tags",
        ):
            with socket.create_connection(("127.0.0.1", int(through.url.rsplit(":", 1)[1])), timeout=20) as connection:
                head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                connection.sendall(f"{head}Authorization: {mine['Authorization']}\r\n\r\n".encode())
                assert b" 404 " in connection.recv(65536).partition(b"\n")[0]
        assert through.client.get("/api/tags", headers=mine).status_code == 404
        assert all(not one.path.startswith("/api") for one in model.requests)
        allowed = start(model.url, allow_loopback_origins=True)
        seen = allowed.post(asking(), headers={"Origin": "http://localhost:3000"})
        assert "x-micro-agent-repairs" in seen.headers["access-control-expose-headers"]


def test_a_prompt_that_cannot_fit_is_refused(start: Start) -> None:
    with ModelServer([text("Three.")], repeat=True) as model:
        through = start(model.url, context_length=500)
        long = [{"role": "user", "content": "one two three four " * 400}]
        for stream in (False, True):
            found = through.post(asking(messages=long, stream=stream))
            assert (found.status_code, found.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert found.json()["error"]["message"].startswith("the prompt has at least ")
        assert through.post(asking()).status_code == 200
        assert through.client.post(CHAT, json=[1]).status_code == 400  # the server says what is wrong with it
        assert len(model.chats) == 1


class Broken(ChatWire):
    """A wire with a defect in one place."""

    def __init__(self, name: str) -> None:
        setattr(self, name, self._raise)

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("a defect")


class BrokenReader(ChatWire):
    """A wire whose reader has one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def reader(self, model: str | None = None) -> Any:
        found = super().reader(model)
        setattr(found, self._name, Broken("asked").asked)
        return found


def test_a_defect_of_ours_harms_nobody(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    said = text('<think>Hm.</think><tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>')
    wires: list[tuple[Any, bool]] = [
        (Broken("asked"), False), (Broken("asked"), True), (Broken("reply"), False), (Broken("mended"), False),
        (Broken("again"), False), (BrokenReader("reply"), True), (BrokenReader("calls_and_end"), True),
        (BrokenReader("feed"), True),
    ]  # fmt: skip
    with ModelServer([said], repeat=True) as model:

        @each(["wire", "stream"], wires)
        def holds(wire: Any, stream: bool) -> None:
            through = start(model.url, Options(tell_again=True), wires=[wire])
            for _ in range(2):
                found = through.post(asking(stream=stream))
                content = told(found.content)[0] if stream else found.json()["choices"][0]["message"]["content"]
                if getattr(wire, "again", None) == ChatWire.again.__get__(wire):
                    assert content == said.text
            assert through.count('failures_total{kind="reading"}') >= 2

        holds()
    assert caplog.text.count("could not be read") == len(wires)


def test_requests_of_any_size_and_shape(start: Start) -> None:
    with ModelServer([text("Three.")], repeat=True) as model:
        through = start(model.url)
        large = asking(messages=[{"role": "user", "content": "a b " * 50_000}])
        assert through.post(large).status_code == 200
        assert model.chats[-1].body == large
        through.client.post("/v1/embeddings", json={"input": "x" * 200_000})
        assert len(model.requests[-1].raw) > 200_000
        for said in ("Typed?", [{"role": "user", "content": [{"type": "input_text", "text": "Typed?"}]}], 7):
            through.post({"model": "scripted", "input": said, "messages": []}, "/v1/chat/completions")
        assert [run.question for run in through.runs()][1:] == ["Typed?", "Typed?", ""]


def test_an_upstream_that_is_none() -> None:
    for url in ("", "nowhere", "ftp://x", "http://user:word@host"):
        with pytest.raises(ConfigurationError, match="the upstream is not"):
            HttpUpstream(url)


def test_headers_of_one_hop_stay_there(start: Start) -> None:
    def play(connection: socket.socket, request: Received) -> None:
        assert request.headers["user-agent"] == "a test"
        assert "te" not in request.headers
        body = json.dumps({"data": []}).encode()
        assert "x-mine" not in request.headers
        head = b"HTTP/1.1 202 Accepted\r\nX-Request-Id: 7\r\nKeep-Alive: timeout=5\r\nDate: never\r\n"
        head += b"X-Micro-Agent-Repairs: none of ours\r\nConnection: x-theirs\r\nX-Theirs: 1\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    sent = {"User-Agent": "a test", "TE": "trailers", "X-Mine": "1", "Connection": "keep-alive, X-Mine"}
    with played(play) as server:
        found = start(server.url + "/v1").client.get("/v1/models", headers=sent)
    assert (found.status_code, found.headers["x-request-id"], found.json()) == (202, "7", {"data": []})
    assert not {"keep-alive", "x-micro-agent-repairs", "x-theirs"} & found.headers.keys()
    assert found.headers.get("date") != "never"


def test_the_end_waits_for_requests_under_way_and_not_for_ever() -> None:
    async def ended(grace_s: float) -> int:
        proxy = Proxy(HttpUpstream("http://127.0.0.1:9"))
        proxy.metrics.under_way = 1

        def answered() -> None:
            proxy.metrics.under_way = 0

        if grace_s:
            asyncio.get_running_loop().call_later(0.05, answered)
        await proxy.close(grace_s)
        return proxy.running()

    assert [asyncio.run(ended(grace_s)) for grace_s in (20, 0)] == [0, 1]


def test_a_request_that_breaks_off_is_not_sent_on(start: Start) -> None:
    with ModelServer([text("Three.")], repeat=True) as model:
        through = start(model.url)
        head = (
            f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
        )
        with socket.create_connection((through.client.base_url.host, through.client.base_url.port)) as client:
            client.sendall(head.encode() + b'\r\n\r\n{"model": "scripted"}')
        assert through.post(asking()).status_code == 200
        assert len(model.chats) == 1
        assert len(through.runs()) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_under_way_at_the_end_of_the_proxy_is_on_record_as_cut_off(start: Start, stream: bool) -> None:
    asked, end = Event(), Event()

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(b'data: {"choices": [{"delta": {"content": "Thr'))
        asked.set()
        end.wait(30)

    def ask() -> None:
        with suppress(httpx.HTTPError):
            through.post(asking(stream=stream))

    with played(play) as server, ThreadPoolExecutor(1) as threads:
        through = start(server.url)
        asking_it = threads.submit(ask)
        assert asked.wait(30)
        asyncio.run_coroutine_threadsafe(through.proxy.close(0), through.loop).result(30)
        (run,) = (through.store.load(run_id) for run_id in through.store.ids())
        end.set()
        asking_it.result(30)
    assert (run.status, run.termination_reason) == ("failed", "cut_off")
