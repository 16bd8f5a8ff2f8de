"""Running tools: outcomes, timeouts, children, cancellation, whatever a handler does."""

import asyncio
import contextvars
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from micro_agent.tools import Outcome, Tool, ToolError, aexecute, execute
from micro_agent.tools.processes import has_children, kill_children
from micro_agent.tools.workers import Worker

SLOW = 0.3
"""Seconds that a tool may take here; what must not return in time takes a hundred times as long."""


def made(handler: Callable[..., Any], **options: Any) -> Tool:
    return Tool("f", "", {"type": "object", "additionalProperties": True}, handler, **options)


def run_async(tool: Tool, args: dict[str, Any]) -> Outcome:
    return asyncio.run(aexecute(tool, args))


both = pytest.mark.parametrize("run", [execute, run_async])
Run = Callable[[Tool, dict[str, Any]], Outcome]


async def async_echo(**args: Any) -> Any:
    await asyncio.sleep(0)
    return args


def returns_coroutine(**args: Any) -> Awaitable[Any]:
    return async_echo(**args)


@both
@pytest.mark.parametrize("timeout_s", [None, 30.0])
@pytest.mark.parametrize("handler", [lambda **args: args, async_echo, returns_coroutine])  # pyright: ignore
def test_every_kind_of_handler_gives_its_result(run: Run, handler: Callable[..., Any], timeout_s: float | None) -> None:
    outcome = run(made(handler, timeout_s=timeout_s), {"a": (1, 2)})
    assert (outcome.observation, outcome.ok, outcome.error) == ({"a": [1, 2]}, True, None)
    assert outcome.latency_s is not None
    assert 0 <= outcome.latency_s < 30


def fails(error: BaseException) -> Callable[..., Any]:
    def handler(**_: Any) -> Any:
        raise error

    return handler


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@both
@pytest.mark.parametrize("timeout_s", [None, 30.0])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad\udcff"), "ValueError: bad\\udcff"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (TimeoutError("mine"), "TimeoutError: mine"),
        (Mute(), "Mute"),
    ],
)
def test_a_failure_is_an_observation(run: Run, error: BaseException, message: str, timeout_s: float | None) -> None:
    outcome = run(made(fails(error), timeout_s=timeout_s), {})
    assert (outcome.ok, outcome.error) == (False, "TOOL_EXCEPTION")
    assert outcome.observation == {"error": "TOOL_EXCEPTION", "message": message}


@both
def test_a_tool_may_name_its_own_failure(run: Run) -> None:
    hint: dict[str, Any] = {"tool_call": {"name": "list_files", "arguments": {}}, "rationale": "look first"}
    error = ToolError("FILE_NOT_FOUND", "no such file", recovery=hint)
    assert str(error) == "FILE_NOT_FOUND: no such file"
    outcome = run(made(fails(error)), {})
    assert outcome.error == "FILE_NOT_FOUND"
    assert outcome.observation == {"error": "FILE_NOT_FOUND", "message": "no such file", "recovery_suggestion": hint}
    returned = run(made(lambda: {"error": "MINE", "message": "m"}), {})  # pyright: ignore[reportUnknownLambdaType]
    assert (returned.ok, returned.error) == (False, "MINE")
    assert run(made(lambda: {"error": None, "rows": 1}), {}).ok  # pyright: ignore[reportUnknownLambdaType]


@both
def test_wrong_keywords_are_a_failure_and_no_crash(run: Run) -> None:
    outcome = run(made(lambda city: city), {"town": 1})  # pyright: ignore
    assert outcome.error == "TOOL_EXCEPTION"
    assert "town" in outcome.observation["message"]


def test_a_long_result_is_cut_to_the_tools_limit() -> None:
    outcome = execute(made(lambda: "x" * 10_000, max_chars=300), {})  # pyright: ignore[reportUnknownLambdaType]
    assert outcome.ok
    assert outcome.observation["truncated"] is True
    assert len(outcome.observation["output"]) < 300


@both
def test_a_tool_that_takes_its_time_gives_its_result(run: Run) -> None:
    def work() -> str:
        time.sleep(SLOW / 10)
        return "done"

    assert run(made(work), {}).observation == "done"


@both
def test_a_tool_that_takes_too_long_is_left_behind(run: Run) -> None:
    release = threading.Event()
    outcome = run(made(lambda: release.wait(60), timeout_s=SLOW), {})  # pyright: ignore[reportUnknownLambdaType]
    release.set()
    assert (outcome.ok, outcome.error) == (False, "TOOL_TIMEOUT")
    assert outcome.observation["message"] == "f did not finish within 0.3 s and was stopped; ask for less at once"
    assert outcome.latency_s is not None
    assert SLOW <= outcome.latency_s < 30


@both
def test_an_async_tool_that_takes_too_long_is_cancelled(run: Run) -> None:
    cancelled = threading.Event()

    async def handler() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    assert run(made(handler, timeout_s=SLOW), {}).error == "TOOL_TIMEOUT"
    assert cancelled.wait(30)


@pytest.mark.parametrize("fault", [False, True])
def test_an_async_tool_that_ignores_its_cancellation_does_not_hold_the_caller(
    fault: bool, caplog: pytest.LogCaptureFixture
) -> None:
    finished = asyncio.Event()

    async def stubborn() -> None:
        for _ in range(2):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue
        finished.set()
        if fault:
            raise ValueError("late")

    async def main() -> tuple[Outcome, bool]:
        outcome = await aexecute(made(stubborn, timeout_s=SLOW), {})
        still_running = not finished.is_set()
        await finished.wait()
        return outcome, still_running

    outcome, still_running = asyncio.run(main())
    assert outcome.error == "TOOL_TIMEOUT"
    assert still_running
    gc.collect()
    assert "never retrieved" not in caplog.text


@both
def test_a_tool_that_cancels_itself_has_failed(run: Run) -> None:
    async def handler() -> None:
        raise asyncio.CancelledError

    outcome = run(made(handler), {})
    assert outcome.observation == {"error": "TOOL_EXCEPTION", "message": "RuntimeError: the tool cancelled itself"}


def test_abandoned_tools_do_not_starve_the_others() -> None:
    release = threading.Event()
    slow = made(lambda: release.wait(60), timeout_s=0.02)  # pyright: ignore[reportUnknownLambdaType]

    async def main() -> list[Outcome]:
        await asyncio.gather(*(aexecute(slow, {}) for _ in range(60)))
        return await asyncio.gather(*(aexecute(made(lambda: 1), {}) for _ in range(60)))  # pyright: ignore

    outcomes = asyncio.run(main())
    release.set()
    assert all(outcome.ok for outcome in outcomes)


@both
def test_context_variables_reach_the_tool(run: Run) -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("mine")
    assert run(made(lambda: variable.get()), {}).observation == "mine"  # pyright: ignore[reportUnknownLambdaType]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(alive, pids))


FAMILY = """
sleep 60 & a=$!
setsid sleep 60 & b=$!
c=$(sleep 60 > /dev/null & echo $!)
echo "$$ $a $b $c" > "$1.part"
mv "$1.part" "$1"
wait
"""
"""A process with one child in its group, one in a session of its own and an orphan in its group; the ids go into
the file ``$1``."""


def family(path: Path, *, own_session: bool = False) -> int:
    return subprocess.run(["sh", "-c", FAMILY, "sh", str(path)], start_new_session=own_session).returncode


def wait_for(path: Path) -> list[int]:
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return [int(word) for word in path.read_text(encoding="ascii").split()]


@both
@pytest.mark.parametrize("own_session", [False, True])
def test_the_processes_of_a_tool_that_takes_too_long_are_killed(run: Run, own_session: bool, tmp_path: Path) -> None:
    path = tmp_path / "pids"

    def handler() -> int:
        return family(path, own_session=own_session)

    bystander = subprocess.Popen(["sleep", "60"])
    outcome = run(made(handler, timeout_s=2.0), {})
    pids = wait_for(path)
    try:
        assert outcome.error == "TOOL_TIMEOUT"
        assert len(pids) == 4
        assert gone(pids[:3])
        assert gone(pids[3:]) if own_session else alive(pids[3])
        assert alive(bystander.pid)
    finally:
        if alive(pids[3]):
            os.kill(pids[3], signal.SIGKILL)
        bystander.kill()
        bystander.wait()


def test_a_process_that_a_tool_left_running_is_not_taken_for_the_next_ones() -> None:
    threads: list[threading.Thread] = []

    def begin() -> int:
        threads.append(threading.current_thread())
        processes.append(subprocess.Popen(["sleep", "60"]))
        return 0

    processes: list[subprocess.Popen[bytes]] = []
    assert execute(made(begin, timeout_s=60), {}).ok
    deadline = time.monotonic() + 30
    while threads[0].is_alive() and time.monotonic() < deadline:
        # In whichever thread is idle. When its turn comes, that one is let go instead, for it has a process.
        assert execute(made(lambda: 0, timeout_s=60), {}).ok
    assert not threads[0].is_alive()
    assert execute(made(lambda: time.sleep(60), timeout_s=0.1), {}).error == "TOOL_TIMEOUT"
    with processes[0] as left:
        assert left.poll() is None
        left.kill()


def test_cancelling_the_caller_ends_the_processes_of_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "pids"

    def handler() -> int:
        return family(path, own_session=True)

    async def main() -> list[int]:
        task = asyncio.ensure_future(aexecute(made(handler, timeout_s=60), {}))
        pids = await asyncio.to_thread(wait_for, path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert gone(asyncio.run(main()))


def test_a_tool_that_hangs_does_not_keep_the_program_from_ending() -> None:
    code = (
        "import time; from micro_agent.tools import Tool, execute\n"
        "tool = Tool('f', '', {'type': 'object'}, lambda: time.sleep(300), timeout_s=0.1)\n"
        "print(execute(tool, {}).error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "TOOL_TIMEOUT"


def test_cancelling_the_caller_cancels_an_async_tool() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def handler() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async def main() -> None:
        task = asyncio.ensure_future(aexecute(made(handler), {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await cancelled.wait()

    asyncio.run(asyncio.wait_for(main(), 30))
    assert cancelled.is_set()


def test_control_c_interrupts_the_wait_and_ends_the_processes(tmp_path: Path) -> None:
    path = tmp_path / "pids"

    def handler() -> int:
        return family(path, own_session=True)

    def interrupt() -> None:
        wait_for(path)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        execute(made(handler, timeout_s=60), {})
    assert gone(wait_for(path))


def abandoned() -> set[Worker]:
    return {thread for thread in threading.enumerate() if isinstance(thread, Worker) and thread.abandoned}


def test_a_result_that_arrives_after_its_loop_has_closed_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()

    def handler() -> None:
        release.wait(60)

    before = abandoned()
    assert run_async(made(handler, timeout_s=SLOW), {}).error == "TOOL_TIMEOUT"
    [left] = abandoned() - before
    release.set()
    left.join(30)
    assert not left.is_alive()
    assert caplog.text == ""


def test_a_thread_that_has_no_processes_has_none_to_kill() -> None:
    found: list[bool] = []
    fresh = threading.Thread(target=lambda: found.append(has_children(threading.get_native_id())))
    fresh.start()
    fresh.join()
    assert found == [False]
    assert not has_children(2**30)
    assert kill_children(threading.get_native_id() + 10**6) == []
