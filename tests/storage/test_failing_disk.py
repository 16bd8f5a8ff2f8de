"""Disks that fail: what is written is readable, what is not is told in one line, and the run goes on afterwards."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from micro_agent import MicroAgent, Tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import RunNotFound, StorageError
from micro_agent.files.jsonl import encode
from micro_agent.files.masking import mask_of
from micro_agent.run import LMCall, Run
from micro_agent.storage.folding import fold
from micro_agent.testing import ScriptedLM, call, calls, text
from micro_agent.traces import TraceStore, read_records

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
SECRET = "sk-canary-0123456789"
MASK = mask_of({"API_KEY": SECRET})


def agent_of(store: TraceStore | None, script: Any, mischief: Callable[[], None], confirm: Any = "all") -> MicroAgent:
    """An agent that looks around, meanwhile something happens to its disk, and sends."""
    look = Tool("look", "Look around.", NOTHING, lambda: mischief() or "nothing", read_only=True, timeout_s=None)
    send = Tool("send", "Send a letter.", NOTHING, lambda: "sent", timeout_s=None)
    return MicroAgent(tools=[look, send], lm=ScriptedLM(script), rules=[], traces=store, confirm=confirm)


def statuses(store: TraceStore, run: Run) -> list[str | None]:
    return [record.run and record.run.status for record in read_records(store.path(run.id))]


def no_sync_of_a_trace(descriptor: int) -> None:
    if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".jsonl"):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were synced, in their order."""
    names: list[str] = []
    sync = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        names.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).suffix)
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    return names


def test_a_run_whose_disk_failed_before_a_tool_can_be_resumed(store: TraceStore) -> None:
    runs = store.state_dir / "runs"
    away = store.state_dir / "away"
    script = [calls(("look", {}), ("send", {}))]
    run = agent_of(store, script, lambda: runs.rename(away) and None).ask("Send it?")
    assert (run.status, run.termination_reason) == ("failed", "storage_error")
    assert run.error is not None
    assert run.error["message"].endswith(f"check the disk and the path; then resume run {run.id}")
    assert [step.error for step in run.steps] == [None, "NOT_RUN"]
    away.rename(runs)
    asked: list[Question] = []

    def confirm(question: Question) -> Approval:
        asked.append(question)
        return Approval("approve")

    again = agent_of(store, [call("send", {}), text("Done.")], lambda: None, confirm).resume(run.id)
    assert (again.status, again.answer) == ("completed", "Done.")
    assert [step.error for step in again.steps] == [None, "INTERRUPTED", None]
    assert "interrupted" in asked[0].reason
    assert statuses(store, run) == ["failed", "completed"]


def test_a_record_that_may_not_be_on_the_disk_is_not_written_twice(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", no_sync_of_a_trace)
        run = agent_of(store, [call("send", {}), text("Done.")], lambda: None).ask("Send it?")
    assert (run.status, run.termination_reason, run.answer) == ("failed", "storage_error", None)
    assert statuses(store, run) == ["completed"]
    again = agent_of(store, [], lambda: None).resume(run.id)
    assert again.answer == "Done."
    assert statuses(store, run) == ["completed"]
    with pytest.raises(RunNotFound, match="it has ended"):
        store.resume(run.id)


def test_the_end_of_a_run_that_must_last_is_on_the_disk_before_its_record(store: TraceStore, synced: list[str]) -> None:
    agent_of(store, [call("send", {}), text("Done.")], lambda: None).ask("Send it?")
    assert synced == [".journal", ".journal", ".jsonl"]  # before the tool, at the end, and the record


def test_a_run_that_only_read_waits_for_no_disk(store: TraceStore, synced: list[str]) -> None:
    agent_of(store, [call("look", {}), text("Done.")], lambda: None).ask("Look?")
    assert synced == []


def test_a_record_that_a_kill_left_unsynced_is_synced_by_who_resumes(store: TraceStore, synced: list[str]) -> None:
    run = Run(question="why?", status="completed", answer="so")
    journal = store.start(run)
    journal.ended(run)
    store.append(run)  # killed before the sync
    journal.close()
    assert synced == []
    store.resume(run.id).finish(run)
    assert synced == [".journal", ".jsonl"]
    assert statuses(store, run) == ["completed"]


def test_a_record_that_cannot_be_synced_keeps_its_journal(store: TraceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(question="why?", status="completed", answer="so")
    journal = store.start(run)
    journal.ended(run)
    store.append(run)
    journal.close()
    back = store.resume(run.id)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", no_sync_of_a_trace)
        with pytest.raises(StorageError, match=r"cannot write the trace .*\.jsonl: Input/output error"):
            back.finish(run)
    back.close()
    assert store.resume(run.id).run == run


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("a file")
    with pytest.raises(StorageError, match="Not a directory; a file is in the place of a folder: move it away"):
        TraceStore(tmp_path / "traces").append(Run(question="why?"))


def test_what_cannot_be_looked_for_is_not_said_to_be_missing(tmp_path: Path) -> None:
    store = TraceStore(tmp_path / ("x" * 300), state_dir=tmp_path / "state")
    with pytest.raises(StorageError, match=r"cannot look for .*: File name too long"):
        store.load("0" * 32)
    with pytest.raises(StorageError, match=r"cannot look for .*: File name too long"):
        store.peek("0" * 32)


def test_a_function_that_cannot_reach_its_own_store_ends_a_run_without_traces() -> None:
    def confirm(question: Question) -> Approval:
        raise StorageError("cannot read the list of approvals")

    send = Tool("send", "Send.", NOTHING, lambda: "sent", requires_confirmation=True)
    run = MicroAgent(tools=[send], lm=ScriptedLM([call("send", {})]), rules=[], confirm=confirm).ask("Send it?")
    assert (run.status, run.termination_reason, run.error) == (
        "failed", "storage_error", {"code": "STORAGE_ERROR", "message": "cannot read the list of approvals"},
    )  # fmt: skip


# Lines that are JSON and nothing else


def started(*events: dict[str, Any]) -> list[bytes]:
    return [encode({"event": "started", "n": 1, "format": 1, "run": Run(question="why?")}), *map(encode, events)]


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "1e999", "NaN"])
def test_an_event_without_a_finite_number_is_a_fault(number: str) -> None:
    folded = fold([*started(), f'{{"event": "resumed", "n": {number}}}\n'.encode()])
    assert folded.faults[0].startswith("line 2: not an event (cannot convert float")


@pytest.mark.parametrize("masked", [5, True, "API_KEY", {"API_KEY": 1}, [["API_KEY"]], [None]])
def test_names_of_secrets_that_are_none_fetch_none(masked: Any) -> None:
    call = LMCall(reply={"text": "[env:API_KEY]"})
    folded = fold(started({"event": "reply", "n": 2, "index": 0, "call": call, "masked": masked}), mask=MASK)
    assert folded.run.calls[0].reply == {"text": "[env:API_KEY]"}
    assert folded.damage is None


# How deep Python's own functions go and how deep `json` goes differ between Python's versions: one of these is between.
DEPTHS = pytest.mark.parametrize("levels", [100, 700, 3000, 20_000, 100_000])


def nested(leaf: str, levels: int) -> Any:
    value: Any = leaf
    for _ in range(levels):
        value = [value]
    return value


@DEPTHS
def test_a_secret_too_deep_to_be_found_is_not_written(levels: int) -> None:
    line = b""
    with suppress(StorageError):
        line = MASK.encode({"value": nested(SECRET, levels)})
    assert SECRET.encode() not in line
    assert b"[env:API_KEY]" in line or levels > 100


@DEPTHS
def test_a_placeholder_too_deep_to_be_put_back_is_a_fault(levels: int) -> None:
    text = "[" * levels + '"[env:API_KEY]"' + "]" * levels
    line = f'{{"event": "reply", "n": 2, "index": 0, "call": {{"reply": {{"text": {text}}}}}, "masked": ["API_KEY"]}}\n'
    folded = fold([*started(), line.encode()], mask=MASK)
    if folded.faults:
        assert "nested too deeply" in folded.faults[0]
        assert levels > 100
    else:
        value: Any = folded.run.calls[0].reply["text"]
        while isinstance(value, list):
            value = cast("list[Any]", value)[0]
        assert value == SECRET
