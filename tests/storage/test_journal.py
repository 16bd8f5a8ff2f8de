"""Journals: what was written down holds whoever is killed, and one holder and one decider win."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from micro_agent.errors import AlreadyDecided, ConfigurationError, NotWaiting, RunBusy, RunNotFound, StorageError
from micro_agent.run import CONFIRMATION_REQUIRED, LMCall, Run, Step
from micro_agent.run.questions import digest_of
from micro_agent.storage.decisions import Decision
from micro_agent.storage.journal import Journal
from micro_agent.storage.locks import hold
from micro_agent.traces import TraceStore
from tests.warm import Warm

QUESTION: dict[str, Any] = {"tool": "send", "args": {}, "call": 0, "call_id": "a"}
QUESTION["sha256"] = digest_of(QUESTION)
CALL = LMCall(reply={"text": "é\u2028"}, input_tokens=3, output_tokens=2, cost_usd=0.5, latency_s=1.0)
STEP = Step(tool="send", args={"to": "x"}, observation={"ok": True}, call=0, call_id="a", latency_s=0.5)

SCENARIO = """
import os, signal, sys
from micro_agent.run.questions import digest_of
from micro_agent.run import LMCall, Run, Step
from micro_agent.traces import TraceStore

store = TraceStore(sys.argv[1], state_dir=sys.argv[2])
last = int(sys.argv[3])
run = Run(id="0" * 32, question="why?")
question = {"tool": "send", "args": {}, "call": 0, "call_id": "a"}
question["sha256"] = digest_of(question)

def events():
    journal = store.start(run)
    yield
    for index in range(2):
        call = LMCall(reply={"text": "x" * 5000}, input_tokens=3)
        run.calls.append(call)
        yield journal.replied(call)
        yield journal.asked(question)
        yield journal.decided("approve")
        yield journal.tool_started(index, "a", "send", {}, side_effects=True)
        step = Step(tool="send", call=index, call_id="a", observation={"ok": True})
        run.steps.append(step)
        yield journal.step(step)
    run.status, run.answer, run.termination_reason = "completed", "so", "final"
    yield journal.ended(run)

for number, _ in enumerate(events(), 1):
    if number == last:
        os.kill(os.getpid(), signal.SIGKILL)
"""
EVENTS = 12


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")


def journal_file(store: TraceStore, run: Run) -> Path:
    return store.state_dir / "runs" / f"{run.id}.journal"


def python(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Run a script in another Python; it talks over its standard input and output."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def asking(store: TraceStore) -> tuple[Journal, Run]:
    """A run that asks a question."""
    run = Run(question="why?")
    journal = store.start(run)
    run.calls.append(CALL)
    journal.replied(CALL)
    journal.asked(QUESTION)
    return journal, run


def test_a_run_comes_back_as_it_was_left(store: TraceStore) -> None:
    run = Run(question="why?", model="m", steps=[Step(tool="given")], calls=[CALL])
    journal = store.start(run)
    journal.replied(CALL)
    journal.tool_started(1, "a", "send", {"to": "x"}, side_effects=True)
    journal.step(STEP.model_copy(update={"call": 1}))
    journal.close()
    journal.close()
    back = store.resume(run.id)
    assert back.run.steps == [Step(tool="given"), STEP.model_copy(update={"call": 1})]
    assert back.run.calls == [CALL, CALL]
    assert (back.run.model, back.run.status, back.damage) == ("m", "running", None)
    assert not back.interrupted(1, "a")
    back.replied(CALL)
    back.close()
    assert len(store.resume(run.id).run.calls) == 3


def test_a_started_tool_without_a_step_was_interrupted(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    journal.replied(CALL)
    journal.tool_started(0, "a", "read", {}, side_effects=False)
    journal.tool_started(0, "b", "send", {}, side_effects=True, sync=False)
    journal.sync()
    journal.sync()
    journal.close()
    back = store.resume(run.id)
    assert back.interrupted(0, "a")
    assert back.interrupted(0, "b")
    assert not back.interrupted(1, "a")
    back.step(STEP)
    assert not back.interrupted(0, "a")


def test_files_and_folders_are_for_this_user_alone(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    for folder in (store.state_dir, store.state_dir / "runs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(journal_file(store, run).stat().st_mode) == 0o600
    trace = journal.finish(run)
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700


def test_secrets_are_in_no_file_and_back_in_the_resumed_run(tmp_path: Path) -> None:
    store = TraceStore(tmp_path / "t", state_dir=tmp_path / "s", environ={"API_KEY": "sk-canary-0123456789"})
    run = Run(question="is sk-canary-0123456789 mine?")
    journal = store.start(run)
    journal.asked(QUESTION)
    journal.settle(QUESTION, "reject", "never say sk-canary-0123456789")
    journal.close()
    for file in (store.state_dir / "runs").iterdir():
        assert "canary" not in file.read_text()
        assert "[env:API_KEY]" in file.read_text()
    back = store.resume(run.id)
    assert back.run.question == run.question
    assert back.decision(QUESTION) == Decision("reject", "never say sk-canary-0123456789")
    trace = back.finish(back.run)
    assert "is [env:API_KEY] mine?" in trace.read_text()


@pytest.mark.parametrize("last", range(1, EVENTS + 1))
def test_a_kill_between_two_events_loses_none(store: TraceStore, last: int, warm: Warm) -> None:
    child = warm.start("-c", SCENARIO, store.directory, store.state_dir, str(last))
    assert child.wait() == -signal.SIGKILL
    (open_run,) = store.open_runs()
    assert not open_run.busy
    journal = store.resume("0" * 32)
    rounds, rest = divmod(last - 1, 5)
    assert len(journal.run.calls) == min(2, rounds + (rest > 0))
    assert len(journal.run.steps) == min(2, rounds)
    assert journal.interrupted(rounds, "a") == (rest == 4)
    assert (journal.decision({**QUESTION, "call": rounds}) is not None) == (rest == 3)
    assert journal.run.status == ("completed" if last == EVENTS else "running")
    assert journal.damage is None
    trace = journal.finish(journal.run)
    assert [json.loads(line)["id"] for line in trace.read_text().splitlines()] == ["0" * 32]
    assert list((store.state_dir / "runs").iterdir()) == []


def test_an_end_is_finished_once_wherever_it_was_cut(store: TraceStore) -> None:
    run = Run(question="why?", status="completed", answer="so")
    store.start(run).finish(run)
    store.start(run).close()  # killed after the record, before its journal was gone
    journal = store.resume(run.id)
    journal.ended(run)
    journal.ended(run)
    journal.close()
    assert journal_file(store, run).read_text().count('"ended"') == 1
    back = store.resume(run.id)
    assert back.run == run
    trace = back.finish(back.run)
    assert len(trace.read_text().splitlines()) == 1
    with pytest.raises(RunNotFound, match="it has ended, its trace is"):
        store.resume(run.id)


def test_a_record_cut_off_is_written_again(store: TraceStore) -> None:
    run = Run(question="why?", status="completed", answer="so")
    journal = store.start(run)
    store.append(run)
    trace = store.path(run.id)
    trace.write_bytes(trace.read_bytes()[:-9])
    journal.finish(run)
    assert store.load(run.id) == run


def test_a_record_before_a_torn_line_is_not_written_again(store: TraceStore) -> None:
    run = Run(question="why?", status="completed", answer="so")
    journal = store.start(run)
    with store.append(run).open("ab") as file:
        file.write(b"{")
    journal.close()
    store.resume(run.id).finish(run)
    assert store.path(run.id).read_bytes().count(b'"question"') == 1


def test_a_paused_run_keeps_its_journal_and_has_a_record_for_each_end(store: TraceStore) -> None:
    journal, run = asking(store)
    run.status = "confirmation_required"
    run.steps.append(Step(tool=CONFIRMATION_REQUIRED, call=0, call_id="a"))
    journal.step(run.steps[-1])
    journal.finish(run)
    back = store.resume(run.id)
    assert (back.run.status, back.run.confirmation) == ("running", QUESTION)
    back.run.status = "confirmation_required"
    back.finish(back.run)  # still nobody there: the same record
    longer = store.resume(run.id)
    longer.run.status = "confirmation_required"
    longer.run.steps.append(STEP)
    longer.step(STEP)
    longer.finish(longer.run)
    again = store.resume(run.id)
    again.run.status, again.run.answer = "completed", "so"
    trace = again.finish(again.run)
    assert [json.loads(line)["status"] for line in trace.read_text().splitlines()] == [
        "confirmation_required",
        "confirmation_required",
        "completed",
    ]


def test_a_closed_journal_writes_no_more(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    journal.close()
    with pytest.raises(StorageError, match="is closed"):
        journal.replied(CALL)
    with pytest.raises(StorageError, match="is closed"):
        journal.sync()


def test_a_folder_that_is_gone_cannot_be_made_durable(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    (store.state_dir / "runs").rename(store.state_dir / "elsewhere")
    with pytest.raises(StorageError, match="cannot make durable"):
        journal.tool_started(0, "a", "send", {}, side_effects=True)


def test_a_run_has_one_journal(store: TraceStore) -> None:
    run = Run(question="why?")
    store.start(run).close()
    with pytest.raises(StorageError, match="has a journal already"):
        store.start(run)


def test_one_process_holds_a_run_and_so_does_one_thread(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    refused: list[str] = []

    def resume() -> None:
        try:
            store.resume(run.id)
        except RunBusy as error:
            refused.append(str(error))

    thread = threading.Thread(target=resume)
    thread.start()
    thread.join()
    assert refused == [f"run {run.id} is held by another process: wait for it, or end it and resume again"]
    assert store.open_runs()[0].busy
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    journal.close()
    try:
        store.resume(run.id)  # the lock did not go to the program that was started
    finally:
        child.kill()
        child.wait()


RESUME = """
import sys
from micro_agent.errors import RunBusy
from micro_agent.traces import TraceStore

store = TraceStore(sys.argv[1], state_dir=sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
try:
    journal = store.resume(sys.argv[3])
    print("won", flush=True)
except RunBusy:
    print("lost", flush=True)
sys.stdin.readline()
"""

DECIDE = """
import sys
from micro_agent.errors import AlreadyDecided
from micro_agent.traces import TraceStore

store = TraceStore(sys.argv[1], state_dir=sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
try:
    store.decide(sys.argv[3], "approve", feedback=sys.argv[4])
    print("won", flush=True)
except AlreadyDecided:
    print("lost", flush=True)
sys.stdin.readline()
"""


def race(script: str, store: TraceStore, run: Run) -> list[str]:
    """Let two processes run a script at once; returns their words."""
    children = [python(script, store.directory, store.state_dir, run.id, name) for name in ("one", "two")]
    for _ in ("ready", "answer"):
        words = [child.stdout.readline().strip() for child in children if child.stdout]
        for child in children:
            assert child.stdin is not None
            child.stdin.write("\n")
            if words[0] == "ready":
                child.stdin.flush()
    for child in children:
        child.communicate()
    return words


def test_of_two_processes_that_resume_one_wins(store: TraceStore) -> None:
    run = Run(question="why?")
    store.start(run).close()
    assert sorted(race(RESUME, store, run)) == ["lost", "won"]


def test_of_two_processes_that_decide_one_wins_while_a_third_waits(store: TraceStore) -> None:
    journal, run = asking(store)
    assert journal.decision(QUESTION) is None
    words = race(DECIDE, store, run)
    assert sorted(words) == ["lost", "won"]
    assert journal.decision(QUESTION) == Decision("approve", ("one", "two")[words.index("won")])


def test_whoever_removes_the_file_under_a_waiting_lock_leaves_nothing_to_resume(store: TraceStore) -> None:
    for _ in range(50):  # until the other thread was seen with the file open, and got the lock of a removed file
        run = Run(question="why?")
        journal = store.start(run)
        found: list[str] = []

        def resume(run_id: str, found: list[str]) -> None:
            try:
                store.resume(run_id).close()
            except (RunNotFound, RunBusy) as error:
                found.append(type(error).__name__)

        thread = threading.Thread(target=resume, args=(run.id, found))
        thread.start()
        while thread.is_alive() and opened(journal_file(store, run)) < 2:
            pass
        journal_file(store, run).unlink()
        journal.close()
        thread.join()
        if found == ["RunNotFound"]:
            return
    pytest.fail("the other thread never got the lock of the removed file")


def opened(path: Path) -> int:
    """How often this process has a file open."""
    count = 0
    for entry in os.scandir("/proc/self/fd"):
        try:
            count += os.readlink(entry.path) == str(path)
        except FileNotFoundError:  # the descriptor of this very listing, or one just closed
            continue
    return count


def test_a_file_that_cannot_be_locked_says_so(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    with pytest.raises(StorageError, match="cannot lock"):
        hold(descriptor, tmp_path)


def test_a_question_is_decided_once_here_or_there(store: TraceStore) -> None:
    journal, run = asking(store)
    assert journal.settle(QUESTION, "approve", "fine") == Decision("approve", "fine")
    assert journal.settle(QUESTION, "reject") == Decision("approve", "fine")
    with pytest.raises(AlreadyDecided, match="the first decision stands"):
        store.decide(run.id, "reject")
    journal.decided("approve", "fine")
    assert journal.decision(QUESTION) == Decision("approve", "fine")
    with pytest.raises(AlreadyDecided, match="has its decision already: approve"):
        store.decide(run.id, "reject")


def test_of_two_threads_that_settle_both_learn_the_same(store: TraceStore) -> None:
    for _ in range(20):
        journal, _ = asking(store)
        start, found = threading.Barrier(2), list[Decision]()

        def settle(journal: Journal, start: threading.Barrier, feedback: str, found: list[Decision]) -> None:
            start.wait()
            found.append(journal.settle(QUESTION, "approve", feedback))

        threads = [threading.Thread(target=settle, args=(journal, start, text, found)) for text in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[0] == found[1] == journal.decision(QUESTION)
        assert len(list((store.state_dir / "runs").glob(f"{journal.run.id}.*"))) == 2


def test_an_approval_is_good_for_one_use(store: TraceStore) -> None:
    journal, run = asking(store)
    store.decide(run.id, "approve")
    journal.decided("approve")
    journal.tool_started(0, "a", "send", {}, side_effects=True)
    journal.step(STEP)
    journal.asked(QUESTION)  # the very same question once more
    assert journal.decision(QUESTION) is None
    store.decide(run.id, "reject", feedback="enough")
    assert journal.decision(QUESTION) == Decision("reject", "enough")


def test_a_decision_made_while_the_run_was_away_waits_for_it(store: TraceStore) -> None:
    journal, run = asking(store)
    run.status = "confirmation_required"
    journal.finish(run)
    store.decide(run.id, "approve")
    back = store.resume(run.id)
    back.asked(QUESTION)
    assert back.decision(QUESTION) == Decision("approve")
    back.finish(Run(id=run.id, question="why?", status="stopped"))
    assert list((store.state_dir / "runs").iterdir()) == []


def test_only_an_open_question_can_be_decided(store: TraceStore) -> None:
    run = Run(question="why?")
    with pytest.raises(RunNotFound, match=r"is under way$"):
        store.decide(run.id, "approve")
    journal = store.start(run)
    with pytest.raises(NotWaiting, match="asks nothing now"):
        store.decide(run.id, "approve")
    with pytest.raises(ConfigurationError, match="not 'maybe'"):
        store.decide(run.id, "maybe")  # pyright: ignore[reportArgumentType]
    journal.finish(run)
    with pytest.raises(NotWaiting, match="has ended"):
        store.decide(run.id, "approve")


def test_the_question_of_a_run_that_has_ended_is_closed(store: TraceStore) -> None:
    journal, run = asking(store)
    journal.ended(run.model_copy(update={"status": "stopped"}))
    with pytest.raises(NotWaiting, match="asks nothing now"):
        store.decide(run.id, "approve")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "nothing but blanks"), (b'{"sha256": "other"}', "about another question"),
        (b'{"sha256": "DIGEST", "decision": "perhaps"}', "not 'perhaps'"),
    ],
)  # fmt: skip
def test_a_damaged_decision_decides_nothing(store: TraceStore, content: bytes, fault: str) -> None:
    journal, run = asking(store)
    store.decide(run.id, "approve")
    (path,) = (store.state_dir / "runs").glob("*.decision")
    digest = json.loads(path.read_bytes())["sha256"]
    path.write_bytes(content.replace(b"DIGEST", digest.encode()))
    with pytest.raises(StorageError, match=f"{fault}.*delete it and decide again"):
        journal.decision(QUESTION)
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError, match="cannot read the decision"):
        journal.decision(QUESTION)
    with pytest.raises(StorageError, match="cannot remove"):
        journal.finish(run)


FULL = """
import resource, sys
from micro_agent.errors import StorageError
from micro_agent.run.questions import digest_of
from micro_agent.run import LMCall, Run
from micro_agent.traces import TraceStore

store = TraceStore(sys.argv[1], state_dir=sys.argv[2])
run = Run(id="0" * 32, question="why?")
journal = store.start(run)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
try:
    for number in range(1000):
        journal.replied(LMCall(reply={"text": "x" * 1200}))
except StorageError as error:
    print(number, error)
try:
    store.decide(run.id, "approve")
except Exception as error:
    print(type(error).__name__)
question = {"tool": "send", "sha256": digest_of({"tool": "send"})}
journal.asked(question)  # a smaller event still fits
try:
    journal.settle(question, "reject", "x" * 20000)
except StorageError as error:
    print(error)
try:
    store.start(Run(id="1" * 32, question="x" * 20000))
except StorageError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
"""


def test_a_full_disk_stops_the_writer_in_words_and_damages_nothing(store: TraceStore) -> None:
    child = python(FULL, store.directory, store.state_dir)
    said = child.communicate()[0].splitlines()
    assert child.returncode == 0
    written, message = said[0].split(" ", 1)
    assert "cannot write to" in message
    assert "File too large; raise the limit on file sizes" in message
    assert said[1] == "NotWaiting"
    assert "cannot write the decision" in said[2]
    assert "File too large; raise the limit on file sizes" in said[2]
    assert "cannot write to" in said[3]
    assert [path.name for path in (store.state_dir / "runs").iterdir()] == ["0" * 32 + ".journal"]
    journal = store.resume("0" * 32)
    assert len(journal.run.calls) == int(written)
    assert (journal.damage, (journal.run.confirmation or {}).get("tool")) == (None, "send")


def test_a_torn_journal_goes_on_and_says_so(store: TraceStore, caplog: pytest.LogCaptureFixture) -> None:
    journal, run = asking(store)
    journal.close()
    with journal_file(store, run).open("ab") as file:
        file.write(b'{"event": "deci\0\xc3')
    back = store.resume(run.id)
    assert back.damage == "line 4: cut off while it was written"
    assert caplog.messages == [f"the journal of run {run.id} is damaged, the rest is used: {back.damage}"]
    back.decided("approve")
    back.close()
    again = store.resume(run.id)
    assert again.decision(QUESTION) == Decision("approve")
    assert not again.interrupted(0, "a")


def test_events_that_were_lost_are_missed(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    for text in ("one", "two", "three"):
        journal.replied(LMCall(reply={"text": text}))
    journal.close()
    path = journal_file(store, run)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*whole[:2], *whole[3:]]))
    back = store.resume(run.id)
    assert [call.reply.get("text") for call in back.run.calls] == ["one", None, "three"]
    assert back.damage == "line 3: events 3 to 3 before it are lost"
    assert [back.interrupted(call, "a") for call in range(3)] == [True, True, False]


def test_what_cannot_be_known_counts_as_interrupted(store: TraceStore) -> None:
    journal, run = asking(store)
    journal.close()
    path = journal_file(store, run)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*whole[:2], b"?\n"]))
    back = store.resume(run.id)
    assert back.interrupted(0, "a")
    back.replied(CALL)
    assert not back.interrupted(1, "a")


def test_a_journal_that_is_no_file_says_so(store: TraceStore) -> None:
    run = Run(question="why?")
    store.start(run).close()
    path = journal_file(store, run)
    path.unlink()
    path.symlink_to("elsewhere")
    with pytest.raises(StorageError, match="it is a symbolic link"):
        store.resume(run.id)
    path.unlink()
    path.write_bytes(b"")
    for _ in range(2):  # the first refusal has let the lock go
        with pytest.raises(StorageError, match="no event starts a run"):
            store.resume(run.id)


def test_a_state_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="a file is in the place of a folder"):
        TraceStore(tmp_path, state_dir=tmp_path / "file" / "state").start(Run(question="why?"))
