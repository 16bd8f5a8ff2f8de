"""Asking over HTTP: answers, streams, clients that leave, come back, or never read."""

import asyncio
import gc
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Tool
from micro_agent.observing import Endpoint, exporting
from micro_agent.server.runs import RunPool
from micro_agent.server.sse import frames_of
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore
from tests.observing.collector import collecting

if TYPE_CHECKING:
    from tests.server.conftest import Serving, Start

SCRIPT = [call("turn", {}), call("turn", {}), call("turn", {}), text("It is done.")]
EVENTS = ["started", "step", "step", "step", "text", "ended"]


class Turnstile:
    """A tool that lets a call through for each turn that it is given."""

    def __init__(self) -> None:
        self._turns = threading.Semaphore(0)

    def turn(self) -> str:
        """Take a turn."""
        self._turns.acquire()
        return "through"

    def give(self, turns: int = 1) -> None:
        for _ in range(turns):
            self._turns.release()


@pytest.fixture
def turnstile() -> Iterator[Turnstile]:
    turnstile = Turnstile()
    yield turnstile
    turnstile.give(10)  # no thread waits for ever


class Stream:
    """A client that reads one event at a time from a socket of its own."""

    def __init__(self, serving: "Serving", method: str, path: str, body: Any = None, headers: str = "") -> None:
        sent = json.dumps(body).encode() if body is not None else b""
        kind = f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n" if sent else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {serving.authority}\r\nConnection: close\r\n{kind}{headers}\r\n"
        self.socket = socket.create_connection(("127.0.0.1", serving.port), timeout=20)
        self.socket.sendall(head.encode() + sent)
        self.response = HTTPResponse(self.socket, method=method)
        self.response.begin()

    def event(self) -> tuple[int, str, Any]:
        """The next event: its id, its name, its data."""
        found: dict[str, str] = {}
        while line := self.response.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            found[name] = value
        return int(found["id"]), found["event"], json.loads(found["data"])

    def events(self, count: int) -> list[tuple[int, str, Any]]:
        return [self.event() for _ in range(count)]

    def close(self) -> None:
        self.response.close()
        self.socket.close()


Connect = Callable[..., Stream]


@pytest.fixture
def connect(start: "Start") -> Iterator[Connect]:
    """Makes clients that read as they like, and closes them before the servers end."""
    made: list[Stream] = []

    def connect(*args: Any, **options: Any) -> Stream:
        made.append(Stream(*args, **options))
        return made[-1]

    yield connect
    for stream in made:
        stream.close()


@pytest.fixture
def asking(connect: Connect) -> Connect:
    """Makes clients that follow a question of theirs."""

    def asking(serving: "Serving", **body: Any) -> Stream:
        return connect(serving, "POST", "/ask/stream", {"question": "Three turns, please.", **body})

    return asking


def following(serving: "Serving", run_id: str, after: int | None = None) -> Any:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    return serving.client.get(f"/runs/{run_id}/events", headers=headers)


def parsed(body: str) -> list[tuple[int, str, Any]]:
    found = [dict(line.split(": ", 1) for line in part.splitlines()) for part in body.split("\n\n") if part]
    return [(int(event["id"]), event["event"], json.loads(event["data"])) for event in found]


def soon(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.005)
    return found


def ended(serving: "Serving", run_id: str) -> Any:
    """The record of a run, when it has ended."""
    soon(lambda: serving.store.path(run_id).exists() and not serving.pool.running())
    return serving.store.load(run_id)


def test_an_answer_comes_at_the_end(start: "Start", turnstile: Turnstile) -> None:
    turnstile.give(3)
    serving = start(SCRIPT, tools=[turnstile.turn])
    answer = serving.client.post(
        "/ask", json={"question": "Three turns, please.", "max_steps": 5, "use_tool_calls": True}
    )
    record = serving.store.load(answer.json()["trace_id"])
    assert (answer.status_code, answer.json()["answer"], record.answer) == (200, "It is done.", "It is done.")
    assert [step["tool"] for step in answer.json()["steps"]] == ["turn"] * 3
    assert record.limits["max_steps"] == 5


def test_a_stream_tells_a_run_as_it_goes(start: "Start", turnstile: Turnstile, asking: Connect) -> None:
    serving = start(SCRIPT, tools=[turnstile.turn])
    stream = asking(serving)
    headers = stream.response.headers
    assert (stream.response.status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
    events = [stream.event()]
    for _ in range(3):
        turnstile.give()
        events.append(stream.event())
    events += stream.events(2)
    stream.close()
    assert [name for _, name, _ in events] == EVENTS
    assert [number for number, _, _ in events] == list(range(1, 7))
    run_id = events[0][2]["trace_id"]
    assert (events[1][2]["observation"], events[4][2]) == ("through", {"text": "It is done."})
    assert (events[5][2]["trace_id"], events[5][2]["answer"]) == (run_id, "It is done.")


@pytest.mark.parametrize("left_after", range(5))
@pytest.mark.parametrize("on_disconnect", ["cancel", "continue"])
def test_a_client_that_leaves_ends_its_run_or_lets_it_go_on(
    start: "Start", turnstile: Turnstile, left_after: int, on_disconnect: str, asking: Connect
) -> None:
    serving = start([call("turn", {}), *SCRIPT], tools=[turnstile.turn])
    if left_after == 4:  # it does not stream: it leaves before it has got anything
        client = socket.create_connection(("127.0.0.1", serving.port))
        body = json.dumps({"question": "?", "on_disconnect": on_disconnect})
        head = f"POST /ask HTTP/1.1\r\nHost: {serving.authority}\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        (open_run,) = soon(serving.store.open_runs)
        run_id = open_run.id
        client.close()
    else:
        stream = asking(serving, on_disconnect=on_disconnect)
        turnstile.give(left_after)
        run_id = stream.events(1 + left_after)[0][2]["trace_id"]
        stream.close()
    if on_disconnect == "continue":
        turnstile.give(4)
    run = ended(serving, run_id)
    reason = {"cancel": "cancelled", "continue": "final"}[on_disconnect]
    assert run.termination_reason == reason
    assert serving.client.get("/healthz").status_code == 200


def test_a_client_that_comes_back_misses_nothing_and_gets_nothing_twice(
    start: "Start", turnstile: Turnstile, asking: Connect, connect: Connect
) -> None:
    serving = start(SCRIPT, tools=[turnstile.turn])
    stream = asking(serving, on_disconnect="continue")
    run_id = stream.event()[2]["trace_id"]
    back = [connect(serving, "GET", f"/runs/{run_id}/events", headers=f"Last-Event-ID: {n}\r\n") for n in range(2)]
    turnstile.give(3)
    whole = [(1, "started", {"trace_id": run_id}), *stream.events(5)]
    assert [name for _, name, _ in whole] == EVENTS
    for number, client in enumerate(back):
        assert client.events(6 - number) == whole[number:]
    for left in (stream, *back):
        left.close()
    for number in range(6):
        assert parsed(following(serving, run_id, number).text) == whole[number:]
    assert parsed(following(serving, run_id).text) == whole
    assert following(serving, run_id, 6).status_code == 204
    nonsense = serving.client.get(f"/runs/{run_id}/events", headers={"Last-Event-ID": "x" * 30})
    assert parsed(nonsense.text) == whole


def test_of_a_run_of_long_ago_the_end_is_told_from_its_record(start: "Start", turnstile: Turnstile) -> None:
    turnstile.give(3)
    serving = start(SCRIPT, tools=[turnstile.turn])
    run_id = serving.client.post("/ask", json={"question": "?"}).json()["trace_id"]
    later = start()
    ((number, name, answer),) = parsed(following(later, run_id, 4).text)
    assert (number, name, answer["trace_id"], len(answer["steps"])) == (5, "ended", run_id, 3)
    assert following(later, "0" * 32).json()["error"]["code"] == "run_not_found"


def test_a_run_of_another_process_is_not_followed_here(start: "Start", turnstile: Turnstile, asking: Connect) -> None:
    serving, other = start(SCRIPT, tools=[turnstile.turn]), start()
    stream = asking(serving)
    run_id = stream.event()[2]["trace_id"]
    refused = following(other, run_id)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_under_way")
    stream.close()
    ended(serving, run_id)


def test_too_many_runs_are_refused_before_a_stream_begins(
    start: "Start", turnstile: Turnstile, asking: Connect
) -> None:
    serving = start(SCRIPT, tools=[turnstile.turn], max_running=1)
    stream = asking(serving)
    run_id = stream.event()[2]["trace_id"]
    for path in ("/ask", "/ask/stream"):
        refused = serving.client.post(path, json={"question": "?"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_runs")
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.headers["content-type"] == "application/json"
    stream.close()
    assert ended(serving, run_id).termination_reason == "cancelled"
    turnstile.give(3)
    assert serving.client.post("/ask", json={"question": "?"}).status_code == 200


def test_what_keeps_a_run_from_starting_is_an_error_and_no_stream(start: "Start", tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    serving = start(traces=TraceStore(tmp_path / "traces", state_dir=tmp_path / "file"))
    for path in ("/ask", "/ask/stream"):
        refused = serving.client.post(path, json={"question": "?"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (500, "storage_error")


def test_a_server_that_ends_tells_its_clients_how_to_go_on(
    start: "Start", turnstile: Turnstile, asking: Connect
) -> None:
    serving = start(SCRIPT, tools=[turnstile.turn])
    stream = asking(serving)
    run_id = stream.event()[2]["trace_id"]
    live = serving.pool.live(run_id)
    assert live is not None
    asyncio.run_coroutine_threadsafe(serving.pool.close(0), live.task.get_loop()).result(20)
    number, name, told = stream.event()
    assert (number, name, told["trace_id"], told["error"]["code"]) == (2, "suspended", run_id, "shutting_down")
    assert f"micro-agent resume {run_id}" in told["error"]["message"]
    stream.close()
    assert [run.id for run in serving.store.open_runs()] == [run_id]


@pytest.mark.torture
def test_clients_that_never_read_cost_nothing_and_hold_nobody_up(
    start: "Start", asking: Connect, connect: Connect
) -> None:
    size, steps, clients = 100_000, 10, 40
    large = Tool("large", "Say much.", {"type": "object"}, lambda: "x" * size, max_chars=2 * size)
    serving = start([*[call("large", {})] * steps, text("It is done."), text("And I.")], tools=[large])
    stream = asking(serving, max_steps=steps + 1)
    run_id = stream.event()[2]["trace_id"]
    before = resident()
    idle = [connect(serving, "GET", f"/runs/{run_id}/events") for _ in range(clients)]
    assert [name for _, name, _ in stream.events(steps + 2)][-1] == "ended"
    assert serving.client.post("/ask", json={"question": "And you?"}).json()["answer"] == "And I."
    # For each of them there are twice as many: the steps, and the end with all of them.
    assert resident() - before < clients * steps * size
    for client in (stream, *idle):
        client.close()


def resident() -> int:
    """Bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.torture
def test_clients_that_leave_leave_nothing_open(start: "Start", turnstile: Turnstile, asking: Connect) -> None:
    serving = start([call("turn", {})], tools=[turnstile.turn], max_running=200)
    asking(serving).close()
    soon(lambda: not serving.pool.running())
    before = len(os.listdir("/dev/fd"))
    for turn in range(100):
        stream = asking(serving, on_disconnect="cancel")
        if turn % 2:
            stream.event()
        stream.close()
    soon(lambda: not serving.pool.running())
    soon(lambda: len(os.listdir("/dev/fd")) <= before)


def test_a_silent_run_keeps_its_connection_alive(store: TraceStore) -> None:
    from micro_agent import MicroAgent

    async def work() -> list[bytes]:
        go = asyncio.Event()

        async def wait() -> str:
            """Wait."""
            await go.wait()
            return "done"

        agent = MicroAgent(tools=[wait], lm=ScriptedLM([call("wait", {}), text("Done.")]), rules=[], traces=store)
        live = RunPool(lambda _: agent, store).start("Wait.")
        await live.started()
        frames: list[bytes] = []
        async for frame in frames_of(live, store, heartbeat_s=0.001):
            frames.append(frame)
            if len(frames) == 3:
                go.set()
        return frames

    frames = asyncio.run(work())
    assert frames[1:3] == [b": ping\n\n"] * 2
    assert [frame.split(b"\n")[0] for frame in frames if frame != b": ping\n\n"] == [
        b"event: started", b"event: step", b"event: text", b"event: ended",
    ]  # fmt: skip


def test_a_run_belongs_to_the_span_of_its_request_where_spans_are_sent(start: "Start") -> None:
    caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    serving = start([text("1."), text("2."), text("3.")])
    headers = {"traceparent": caller}
    with collecting() as collector, exporting(Endpoint(collector.url)):
        asked = [serving.client.post("/ask", json={"question": "One?"}, headers=sent) for sent in (headers, {})]
        serving.client.post("/ask/stream", json={"question": "Two?"}, headers=headers)
    ids = [answer.json()["trace_id"] for answer in asked]
    assert [root.trace for root in collector.named("agent.run")] == [caller[3:35], ids[1], caller[3:35]]
    assert [serving.store.load(run_id).traceparent for run_id in ids] == [caller, None]
