"""The server's process: where it listens, and how it ends."""

import os
import queue
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from micro_agent import MicroAgent
from micro_agent.errors import ConfigurationError
from micro_agent.server.app import create_app
from micro_agent.server.runs import RunPool
from micro_agent.server.serve import listening, serve, url_of
from micro_agent.server.settings import ServerSettings
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

Visit = Callable[[httpx.Client, Callable[[], None]], Any]
"""Visits the server with a client; can end it, which happens at the end in any case."""


def visited(pool: RunPool, store: TraceStore, visit: Visit, **settings: Any) -> tuple[Any, list[str]]:
    """Serve in this thread while another one visits, which ends with the signal; what it returns, and what was said."""
    chosen = ServerSettings(port=0, **settings)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        lines.put(line)

    def end() -> None:
        if not ended:  # a second signal would end the tests
            ended.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    def work() -> Any:
        url = lines.get(timeout=30).split()[-1]
        try:
            with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
                return visit(client, end)
        finally:
            end()

    ended: list[bool] = []
    with ThreadPoolExecutor(1) as threads:
        visiting: Future[Any] = threads.submit(work)
        serve(create_app(pool=pool, store=store, settings=chosen), pool, chosen, say=say)
        return visiting.result(), said


def test_it_says_where_it_listens_and_ends_with_a_signal(store: TraceStore) -> None:
    agent = MicroAgent(tools=[], lm=ScriptedLM([text("Sixteen.")]), rules=[], traces=store)

    def visit(client: httpx.Client, end: Callable[[], None]) -> Any:
        return str(client.base_url), client.post("/ask", json={"question": "2*8?"}).json()["answer"]

    before = signal.getsignal(signal.SIGTERM)
    (url, answer), said = visited(RunPool(lambda _: agent, store), store, visit)
    assert (answer, said) == ("Sixteen.", [f"micro-agent listens on {url}"])
    assert signal.getsignal(signal.SIGTERM) is before
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_at_the_end_a_run_under_way_is_left_to_be_resumed(store: TraceStore) -> None:
    held, entered = threading.Event(), threading.Event()

    def wait() -> str:
        """Wait."""
        entered.set()
        held.wait()
        return "done"

    lm = ScriptedLM([call("wait", {}), text("Done.")])
    agent = MicroAgent(tools=[wait], lm=lm, rules=[], traces=store)

    def visit(client: httpx.Client, end: Callable[[], None]) -> Any:
        with ThreadPoolExecutor(1) as threads:
            asking = threads.submit(client.post, "/ask", json={"question": "Wait."})
            assert entered.wait(30)
            end()
            return asking.result()

    pool = RunPool(lambda _: agent, store)
    answer, said = visited(pool, store, visit, grace=0.05)
    (left,) = store.open_runs()
    assert said[1:] == ["ending: 1 under way, 0.05 s for them; a second signal ends at once"]
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "shutting_down")
    assert f"micro-agent resume {left.id}" in answer.json()["error"]["message"]
    held.set()
    run = MicroAgent(tools=[wait], lm=ScriptedLM([text("Done.")]), rules=[], traces=store).resume(left.id)
    assert (run.status, run.answer, run.steps[0].error) == ("completed", "Done.", "INTERRUPTED")


def test_a_client_that_never_reads_does_not_keep_it_from_ending(
    store: TraceStore, caplog: pytest.LogCaptureFixture
) -> None:
    agent = MicroAgent(tools=[], lm=ScriptedLM([text("x" * 8_000_000)]), rules=[], traces=store)
    pool = RunPool(lambda _: agent, store)
    idle = socket.socket()
    idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def visit(client: httpx.Client, end: Callable[[], None]) -> Any:
        idle.connect(("127.0.0.1", client.base_url.port))
        head = f"POST /ask/stream HTTP/1.1\r\nHost: localhost:{client.base_url.port}\r\n"
        body = '{"question": "?"}'
        sent = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        idle.sendall(sent.encode())
        assert idle.recv(1) == b"H"

    with idle:
        visited(pool, store, visit, grace=30)
    assert (pool.running(), caplog.records) == (0, [])


def test_where_it_cannot_or_must_not_listen_is_one_line(store: TraceStore) -> None:
    pool = RunPool(lambda _: MicroAgent(tools=[], lm=ScriptedLM([])), store)

    def refused(**settings: Any) -> str:
        chosen = ServerSettings(**settings)
        with pytest.raises(ConfigurationError) as error:
            serve(create_app(pool=pool, store=store, settings=chosen), pool, chosen, say=print)
        return str(error.value)

    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert refused(port=port) == (
            f"cannot listen on 127.0.0.1, port {port}: Address already in use; choose another --host or --port"
        )
    assert "cannot listen on no.such.host.invalid" in refused(host="no.such.host.invalid", api_token="secret-enough")
    assert "MICRO_AGENT_API_TOKEN" in refused(host="0.0.0.0")


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_an_ipv6_address_has_brackets_in_its_url() -> None:
    try:
        listener = listening("::1", 0)
    except ConfigurationError:
        pytest.skip("this machine has no IPv6 loopback address")
    with listener:
        assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"
