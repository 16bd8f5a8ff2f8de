"""A run under way: people are asked, everything is written down first, and whatever fails outside is told as data."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import AlreadyDecided, NotWaiting, StorageError
from micro_agent.rules import BeforeTool, Event, Verdict, Warn
from micro_agent.run import CONFIRMATION_REQUIRED, WARNING
from micro_agent.streaming import Ended, OnEvent, StepTaken, StreamEvent
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, calls, error, hang, text
from micro_agent.traces import TraceStore, read_records

Ask = Callable[[MicroAgent], Run]
WAYS: list[Ask] = [lambda agent: agent.ask("Send it?"), lambda agent: asyncio.run(agent.aask("Send it?"))]
PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


class Outbox:
    """A tool with side effects that wants confirmation, and what it has done."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def tool(self, **options: Any) -> Tool:
        options = {"requires_confirmation": True, **options}
        return Tool("send", "Send a letter.", PARAMETERS, self._send, **options)

    def _send(self, to: str) -> str:
        self.sent.append(to)
        return "sent"


def sender(confirm: Any = "pause", store: TraceStore | None = None, **options: Any) -> tuple[MicroAgent, Outbox, Any]:
    outbox = Outbox()
    lm = ScriptedLM([call("send", {"to": "Ann"}), text("Done.")])
    agent = MicroAgent(tools=[outbox.tool(**options)], lm=lm, rules=[], traces=store, confirm=confirm)
    return agent, outbox, lm


# Confirmation


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("stored", [False, True])
def test_a_run_pauses_and_goes_on_once_approved(ask: Ask, stored: bool, store: TraceStore) -> None:
    agent, outbox, _ = sender(store=store if stored else None)
    run = ask(agent)
    assert (run.status, run.termination_reason, run.answer) == ("confirmation_required",) * 2 + (None,)
    assert [(step.tool, step.args) for step in run.steps] == [
        (CONFIRMATION_REQUIRED, {"tool": "send", "args": {"to": "Ann"}})
    ]
    assert run.confirmation is not None
    assert (run.confirmation["tool"], run.confirmation["args"]) == ("send", {"to": "Ann"})
    assert outbox.sent == []
    if stored:
        assert store.load(run.id).status == "confirmation_required"
        assert [(one.id, one.status) for one in store.open_runs()] == [(run.id, "confirmation_required")]
    done = agent.resume(run.id if stored else run, Approval("approve"))
    assert (done.status, done.answer, done.confirmation, outbox.sent) == ("completed", "Done.", None, ["Ann"])
    assert done.usage.lm_calls == 2
    if stored:
        assert [record.run and record.run.status for record in read_records(store.path(run.id))] == [
            "confirmation_required",
            "completed",
        ]
        assert store.open_runs() == []


@pytest.mark.parametrize("stored", [False, True])
def test_a_rejection_is_told_to_the_model(stored: bool, store: TraceStore) -> None:
    agent, outbox, lm = sender(store=store if stored else None)
    run = agent.ask("Send it?")
    done = asyncio.run(agent.aresume(run.id if stored else run, Approval("reject", "Ask Bob.")))
    assert (done.status, outbox.sent) == ("completed", [])
    assert [step.error for step in done.steps] == [None, "APPROVAL_REJECTED"]
    assert '"feedback": "Ask Bob."' in lm.messages(1)[-1]["content"]
    assert done.usage.tool_calls == 0


@pytest.mark.parametrize("stored", [False, True])
def test_a_run_that_is_resumed_without_a_word_pauses_again_and_says_so_once(stored: bool, store: TraceStore) -> None:
    agent, outbox, _ = sender(store=store if stored else None)
    run = agent.ask("Send it?")
    again = agent.resume(run.id if stored else run)
    assert (again.status, len(again.steps), outbox.sent) == ("confirmation_required", 1, [])
    assert again.confirmation == run.confirmation


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("confirm", "sent", "code"), [("all", ["Ann"], None), ("never", [], "APPROVAL_REQUIRED")])
def test_modes_that_ask_nobody(
    confirm: Literal["all", "never"], sent: list[str], code: str | None, stored: bool, store: TraceStore
) -> None:
    agent, outbox, _ = sender(confirm, store if stored else None)
    run = agent.ask("Send it?")
    assert (run.status, run.steps[0].error, outbox.sent) == ("completed", code, sent)


def test_a_function_is_asked_with_all_that_it_must_show() -> None:
    asked: list[Question] = []

    def confirm(question: Question) -> Approval:
        asked.append(question)
        return Approval("approve")

    agent, outbox, _ = sender(confirm)
    run = agent.ask("Send it?")
    assert (asked[0].run, asked[0].tool, asked[0].args) == (run.id, "send", {"to": "Ann"})
    assert asked[0].reason
    assert asked[0].elsewhere() is None
    assert outbox.sent == ["Ann"]


def test_a_tool_can_say_which_calls_want_confirmation() -> None:
    agent, outbox, _ = sender("never", requires_confirmation=lambda args: args["to"] != "Ann")  # pyright: ignore[reportUnknownLambdaType]
    assert agent.ask("Send it?").status == "completed"
    assert outbox.sent == ["Ann"]


def test_a_decision_made_elsewhere_while_the_run_is_paused_counts(store: TraceStore) -> None:
    agent, outbox, _ = sender(store=store)
    run = agent.ask("Send it?")
    store.decide(run.id, "approve")
    with pytest.raises(AlreadyDecided):
        store.decide(run.id, "reject")
    assert agent.resume(run.id, Approval("reject")).status == "completed"
    assert outbox.sent == ["Ann"]
    with pytest.raises(NotWaiting):
        store.decide(run.id, "approve")


@pytest.mark.parametrize("ask", WAYS)
def test_a_decision_made_elsewhere_while_somebody_is_asked_counts(ask: Ask, store: TraceStore) -> None:
    def confirm(question: Question) -> Approval:
        assert question.elsewhere() is None
        TraceStore(store.directory, state_dir=store.state_dir).decide(question.run, "reject", feedback="Not now.")
        standing = question.elsewhere()
        assert standing == Approval("reject", "Not now.")
        return Approval("approve")  # too late: the first decision stands

    agent, outbox, _ = sender(confirm, store)
    run = ask(agent)
    assert (run.steps[0].error, outbox.sent) == ("APPROVAL_REJECTED", [])


def test_an_approval_holds_for_one_call_only(store: TraceStore) -> None:
    outbox = Outbox()
    lm = ScriptedLM([call("send", {"to": "Ann"}), call("send", {"to": "Ann"}), text("Done.")])
    agent = MicroAgent(tools=[outbox.tool()], lm=lm, rules=[], traces=store)
    run = agent.resume(agent.ask("Send it?").id, Approval("approve"))
    assert (run.status, outbox.sent) == ("confirmation_required", ["Ann"])
    store.decide(run.id, "approve")
    assert agent.resume(run.id).status == "completed"
    assert outbox.sent == ["Ann", "Ann"]


def test_a_call_that_was_warned_about_and_paused_is_still_run(store: TraceStore) -> None:
    def warn(run: Run, event: Event) -> Verdict | None:
        return Warn("Careful.") if isinstance(event, BeforeTool) else None

    outbox = Outbox()
    lm = ScriptedLM([call("send", {"to": "Ann"}), text("Done.")])
    agent = MicroAgent(tools=[outbox.tool()], lm=lm, rules=[warn], traces=store)
    done = agent.resume(agent.ask("Send it?").id, Approval("approve"))
    assert (done.status, outbox.sent) == ("completed", ["Ann"])
    assert [step.tool for step in done.steps] == [WARNING, CONFIRMATION_REQUIRED, "send"]


def test_a_function_that_means_to_end_the_program_does_and_the_run_can_be_resumed(store: TraceStore) -> None:
    def confirm(question: Question) -> Approval:
        raise SystemExit

    agent, outbox, _ = sender(confirm, store)
    with pytest.raises(SystemExit):
        agent.ask("Send it?")
    (left,) = store.open_runs()
    assert not left.busy
    assert agent.resume(left.id, Approval("approve")).status == "completed"
    assert outbox.sent == ["Ann"]


# What a model call can end in


@pytest.mark.parametrize(
    ("reply", "code", "retries"),
    [
        (error(429, "slow down", retry_after=0), "RATE_LIMITED", 3),
        (error(500, "oops", retry_after=0), "SERVER_ERROR", 3),
        (error(401, "bad key"), "AUTH", 0),
        (error(404, "the model `m` does not exist", code="model_not_found"), "MODEL_NOT_FOUND", 0),
    ],
)
@pytest.mark.parametrize("ask", WAYS)
def test_a_model_that_cannot_be_asked_is_told_in_one_line(ask: Ask, reply: Reply, code: str, retries: int) -> None:
    lm = ScriptedLM([reply] * 9)
    run = ask(MicroAgent(tools=[], lm=lm, rules=[]))
    assert (run.status, run.termination_reason, run.answer) == ("failed", "lm_error", None)
    assert run.error is not None
    assert (run.error["code"], run.error["retries"]) == (code, retries)
    assert "\n" not in run.error["message"]
    assert len(lm.requests) == retries + 1


def test_tries_that_failed_are_counted_in_the_call() -> None:
    lm = ScriptedLM([error(429, "slow down", retry_after=0), error(503, "", retry_after=0), text("Done.")])
    run = MicroAgent(tools=[], lm=lm, rules=[]).ask("?")
    assert (run.answer, run.calls[0].retries, run.usage.lm_calls) == ("Done.", 2, 1)


def test_time_between_tries_counts_as_waiting_for_the_model() -> None:
    lm = ScriptedLM([error(429, "slow down", retry_after=0.2), text("Done.")])
    run = MicroAgent(tools=[], lm=lm, rules=[]).ask("?")
    assert run.usage.latency_s >= 0.2


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("micro_agent.models.retry.BACKOFF_S", ())  # nobody waits for second tries
    from micro_agent import configure_lm

    lm = configure_lm("openai", "m", "http://127.0.0.1:9/v1")
    run = MicroAgent(tools=[], lm=lm, rules=[]).ask("?")
    assert run.error is not None
    assert (run.status, run.error["code"]) == ("failed", "NO_SERVER")
    assert "http://127.0.0.1:9/v1" in run.error["message"]


def test_a_context_that_is_full_stops_the_run() -> None:
    told = "This model's maximum context length is 4096 tokens"
    lm = ScriptedLM([call("send", {"to": "Ann"}), error(400, told, code="context_length_exceeded")])
    run = MicroAgent(tools=[Outbox().tool(requires_confirmation=False)], lm=lm, rules=[]).ask("?")
    assert (run.status, run.termination_reason, len(run.steps)) == ("stopped", "context_overflow", 1)


@pytest.mark.parametrize("ask", WAYS)
def test_time_that_is_over_during_a_call_stops_the_run(ask: Ask) -> None:
    with ModelServer([hang(60)]) as server:
        from micro_agent import configure_lm

        lm = configure_lm("openai", "m", server.openai_url)
        run = ask(MicroAgent(tools=[], lm=lm, rules=[], limits=Limits(max_time=0.3)))
    assert (run.status, run.termination_reason, run.answer) == ("stopped", "max_time", None)
    assert run.error is not None
    assert "max_time (0.3 s)" in run.error["message"]


def test_time_that_is_over_between_two_calls_stops_the_run() -> None:
    lm = ScriptedLM([call("send", {"to": "Ann"}, delay_s=0.2), text("Done.")])
    run = MicroAgent(tools=[Outbox().tool()], lm=lm, rules=[], confirm="all", limits=Limits(max_time=0.1)).ask("?")
    assert (run.status, run.termination_reason) == ("stopped", "max_time")


# Storage


def full_disk(path: Path) -> None:
    """Every further write to this open file says that there is no space."""
    full = os.open("/dev/full", os.O_WRONLY)
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
        if target == str(path):
            os.dup2(full, int(number))
    os.close(full)


def journal_of(store: TraceStore) -> Path:
    (path,) = (store.state_dir / "runs").glob("*.journal")
    return path


@pytest.mark.parametrize("ask", WAYS)
def test_nothing_is_done_when_the_run_cannot_be_written_down(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a folder", encoding="utf-8")
    agent, outbox, lm = sender("all", TraceStore(tmp_path / "traces", state_dir=tmp_path / "state"))
    with pytest.raises(StorageError, match="cannot make the folder"):
        ask(agent)
    assert (outbox.sent, lm.requests) == ([], [])


def test_a_reply_that_cannot_be_written_down_is_not_acted_upon(store: TraceStore) -> None:
    outbox = Outbox()

    def script(request: Received) -> Reply:
        full_disk(journal_of(store))
        return call("send", {"to": "Ann"})

    agent = MicroAgent(tools=[outbox.tool()], lm=ScriptedLM(script), rules=[], traces=store, confirm="all")
    run = agent.ask("Send it?")
    assert (run.status, run.termination_reason, outbox.sent) == ("failed", "storage_error", [])
    assert run.error is not None
    assert "No space left" in run.error["message"]
    assert store.load(run.id).termination_reason == "storage_error"
    assert not store.open_runs()[0].busy


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("confirms", [False, True])
def test_no_further_tool_runs_once_the_disk_is_full(asynchronous: bool, confirms: bool, store: TraceStore) -> None:
    outbox = Outbox()
    first = Tool("first", "First.", {"type": "object", "properties": {}}, lambda: 1)

    def fill(event: StreamEvent) -> None:
        if isinstance(event, StepTaken) and event.step.tool == "first":
            full_disk(journal_of(store))

    lm = ScriptedLM([calls(("first", {}), ("send", {"to": "Ann"})), text("Done.")])
    tools = [first, outbox.tool(requires_confirmation=confirms)]
    agent = MicroAgent(tools=tools, lm=lm, rules=[], traces=store, confirm="all")
    watch: OnEvent = fill
    run = asyncio.run(agent.aask("?", on_event=watch)) if asynchronous else agent.ask("?", on_event=watch)
    assert (run.status, run.termination_reason, outbox.sent) == ("failed", "storage_error", [])
    assert store.resume(run.id).run.steps[0].tool == "first"


def test_an_answer_whose_record_cannot_be_written_is_no_success(store: TraceStore) -> None:
    def script(request: Received) -> Reply:
        store.directory.rmdir() if store.directory.exists() else None
        store.directory.write_text("a file, not a folder", encoding="utf-8")
        return text("Done.")

    run = MicroAgent(tools=[], lm=ScriptedLM(script), rules=[], traces=store).ask("?")
    assert (run.status, run.termination_reason, run.answer, run.model_answer) == ("failed", "storage_error", None, None)
    store.directory.unlink()
    found = MicroAgent(tools=[], lm=ScriptedLM([]), rules=[], traces=store).resume(run.id)
    assert (found.status, found.answer) == ("completed", "Done.")
    assert store.load(run.id).answer == "Done."


# Cancelling


@pytest.mark.parametrize("stored", [False, True])
def test_a_cancelled_task_leaves_its_run_on_record(stored: bool, store: TraceStore) -> None:
    runs: list[Run] = []
    started = threading.Event()

    def script(request: Received) -> Reply:
        started.set()
        return text("too late", delay_s=60)

    def watch(event: StreamEvent) -> None:
        if isinstance(event, Ended):
            runs.append(event.run)

    async def cancelled() -> None:
        agent = MicroAgent(tools=[], lm=ScriptedLM(script), rules=[], traces=store if stored else None)
        task = asyncio.create_task(agent.aask("?", on_event=watch))
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [(run.status, run.termination_reason, run.answer) for run in runs] == [("stopped", "cancelled", None)]
    if stored:
        assert store.load(runs[0].id).termination_reason == "cancelled"
        assert store.open_runs() == []


def test_a_tool_that_a_cancelled_task_left_is_interrupted_even_at_the_last_step(store: TraceStore) -> None:
    started = asyncio.Event()

    async def slow() -> None:
        """Take long."""
        started.set()
        await asyncio.sleep(60)

    async def cancelled() -> None:
        lm = ScriptedLM([calls(("slow", {}), ("slow", {}))])
        agent = MicroAgent(tools=[slow], lm=lm, rules=[], traces=store, limits=Limits(max_steps=1))
        task = asyncio.create_task(agent.aask("?"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    run = store.load(next(store.ids()))
    assert (run.status, run.termination_reason) == ("stopped", "cancelled")
    assert [step.error for step in run.steps] == ["INTERRUPTED", "NOT_RUN"]


def test_a_run_that_was_cancelled_before_it_began_asks_nothing() -> None:
    from micro_agent.cancel import Cancel

    cancel = Cancel()
    cancel.set()
    lm = ScriptedLM([])
    run = MicroAgent(tools=[], lm=lm, rules=[]).ask("?", cancel=cancel)
    assert (run.status, run.termination_reason, lm.requests) == ("stopped", "cancelled", [])


def test_a_wait_before_another_try_is_broken_off() -> None:
    from micro_agent.cancel import Cancel

    cancel = Cancel()

    def script(request: Received) -> Reply:
        threading.Timer(0.1, cancel.set).start()
        return error(429, "slow down", retry_after=60)

    run = MicroAgent(tools=[], lm=ScriptedLM(script), rules=[]).ask("?", cancel=cancel)
    assert (run.status, run.termination_reason) == ("stopped", "cancelled")
