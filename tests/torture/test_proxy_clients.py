"""Unchanged clients behind the repairing proxy, with a part of the scripted defects of `benchmarks/proxy_defects`."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from time import sleep

import pytest

from benchmarks.proxy_defects.aider import EDITS
from benchmarks.proxy_defects.identical import checks
from benchmarks.proxy_defects.paces import begun, crowd
from benchmarks.proxy_defects.proxying import Process, proxying
from benchmarks.proxy_defects.running import CLIENTS, Client, heard, run
from benchmarks.proxy_defects.sets import Defect, load
from benchmarks.proxy_defects.task import QUESTION
from benchmarks.proxy_defects.upstream import log, serving
from micro_agent.traces import TraceStore
from tests.torture.programs import program

pytestmark = pytest.mark.torture

STEP = 7
PATIENCE = 200


def part(kind: str) -> list[Defect]:
    """Some defects of a kind, of both halves."""
    return [defect for defect in load() if defect.kind == kind][::STEP]


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter that has the clients."""
    return str(program("python"))


@pytest.fixture(scope="module")
def upstream() -> Generator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def proxy(upstream: str) -> Generator[Process]:
    with proxying(upstream) as process:
        yield process


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_does_its_task(client: Client, upstream: str, proxy: Process, python: str) -> None:
    without = run(client, part("mend"), upstream, python)
    through = run(client, part("mend"), proxy.url, python)
    right = {outcome.key for outcome in without if outcome.verdict == "right"}
    counted = Counter(outcome.verdict for outcome in through)
    assert len(right) <= 0.4 * len(without)
    assert counted["right"] >= 0.85 * len(through), [o.told for o in through if o.verdict != "right"]
    assert not [o.told for o in through if o.verdict == "wrong" and o.key in right]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_runs_nothing_that_nobody_meant(client: Client, upstream: str, proxy: Process, python: str) -> None:
    traps = [defect for defect in load() if defect.kind == "trap"][::4]
    right = {outcome.key for outcome in run(client, traps, upstream, python) if outcome.verdict == "right"}
    with proxying(upstream, "--heal", "embedded") as healing:
        for url in (proxy.url, healing.url):
            assert right <= {o.key for o in run(client, traps, url, python) if o.verdict == "right"}


@pytest.mark.parametrize("words", [(), ("stream",)], ids=["whole", "streamed"])
def test_an_edit_comes_as_it_is(words: tuple[str, ...], proxy: Process, python: str) -> None:
    told = heard(Client("litellm", "litellm_text", "chat", words), list(EDITS), proxy.url, python)
    assert told == {name: f"shop.py\n```\n{edit}```\n" for name, edit in EDITS.items()}


@pytest.mark.parametrize("options", [(), ("--heal", "embedded")], ids=["clear", "embedded"])
def test_what_is_good_goes_through_byte_for_byte(options: tuple[str, ...], upstream: str) -> None:
    with serving() as fresh, proxying(fresh, *options) as process:
        assert [check for check in checks(load(), fresh, process.url) if check.wrong] == []


def test_two_hundred_streams_at_once_all_arrive(proxy: Process) -> None:
    assert all(stream.whole for stream in crowd(proxy.url, 200))


def test_a_client_that_goes_away_ends_the_request_behind(upstream: str, proxy: Process) -> None:
    model = "pace:400:25:gone"

    async def leave() -> None:
        reader, writer = await begun(proxy.url, model)
        await reader.readuntil(b"data: ")
        writer.close()

    asyncio.run(leave())
    assert any(log(upstream, model)["gone"] or sleep(0.05) for _ in range(PATIENCE))


def test_a_kill_in_mid_stream_leaves_a_record_that_can_be_read(upstream: str, tmp_path: Path) -> None:
    async def killed(process: Process) -> None:
        reader, writer = await begun(process.url, "pace:400:25:killed")
        await reader.readuntil(b"data: ")
        os.kill(process.pid, signal.SIGKILL)
        writer.close()

    with proxying(upstream, traces=tmp_path) as process:
        asyncio.run(killed(process))
    store = TraceStore(tmp_path)
    (run_id,) = store.ids()
    run = store.load(run_id)
    assert run.status != "completed"
    assert QUESTION in run.question
