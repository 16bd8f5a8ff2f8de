"""The store of runs: ids and files, many writers, and what a user is told when something is wrong."""

import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from micro_agent.errors import ConfigurationError, RunNotFound, StorageError
from micro_agent.run import Run
from micro_agent.run.questions import digest_of
from micro_agent.traces import OpenRun, TraceStore, read_records
from tests.warm import Warm


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")


def python(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Run a script in another Python."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_importing_storage_does_not_import_dspy() -> None:
    script = "import sys, micro_agent.traces, micro_agent.storage.journal; print('dspy' in sys.modules)"
    assert python(script).communicate()[0] == "False\n"


def test_nothing_is_made_before_something_is_written(store: TraceStore) -> None:
    assert (list(store.ids()), store.open_runs()) == ([], [])
    assert not store.directory.exists()
    assert not store.state_dir.exists()


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"MICRO_AGENT_STATE_DIR": "/s/m", "XDG_STATE_HOME": "/x"}, Path("/s/m")),
        ({"MICRO_AGENT_STATE_DIR": "~/m"}, Path.home() / "m"),
        ({"MICRO_AGENT_STATE_DIR": "m"}, Path.cwd() / "m"),
        ({"MICRO_AGENT_STATE_DIR": "", "XDG_STATE_HOME": "/x"}, Path("/x/micro-agent")),
        ({"XDG_STATE_HOME": "relative"}, Path.home() / ".local/state/micro-agent"),
        ({}, Path.home() / ".local/state/micro-agent"),
    ],
)
def test_where_the_state_lives(environ: dict[str, str], folder: Path) -> None:
    store = TraceStore(environ=environ)
    assert (store.directory, store.state_dir) == (Path("traces"), folder)


@pytest.mark.parametrize(
    "run_id",
    [
        "",
        "../x",
        "..%2fx",
        "/etc/passwd",
        "a" * 31,
        "a" * 33,
        "A" * 32,
        "a" * 32 + "\n",
        "a\0" * 16,
        "ａ" * 32,
        "x" * 10_000,
    ],
)
def test_only_a_run_id_becomes_a_path(store: TraceStore, run_id: str) -> None:
    uses: list[Callable[[str], object]] = [
        store.path, store.load, store.resume, lambda run_id: store.decide(run_id, "approve")
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(ConfigurationError, match="not a run id: ") as caught:
            use(run_id)
        assert len(str(caught.value)) < 500
        assert str(caught.value).isprintable()


def test_records_of_a_run_are_read_back_by_index(store: TraceStore) -> None:
    run = Run(question="why?")
    assert store.append(run) == store.path(run.id) == store.directory / f"{run.id}.jsonl"
    later = run.model_copy(update={"status": "completed"})
    store.append(later)
    assert (store.load(run.id), store.load(run.id, 0)) == (later, run)
    with pytest.raises(RunNotFound, match="has 2 records, none is number 2"):
        store.load(run.id, 2)
    with pytest.raises(RunNotFound, match="no trace of run"):
        store.load("b" * 32)


def test_a_damaged_trace_gives_what_is_whole(store: TraceStore, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(question="why?")
    path = store.append(run)
    with path.open("ab") as file:
        file.write(b"garbage\n{")
    assert store.load(run.id) == run
    assert "line 2: not readable: " in caplog.messages[0]
    assert caplog.messages[0].endswith("line 3: cut off while it was written")
    path.write_bytes(b"")
    with pytest.raises(StorageError, match="has no readable record: line 0: no record in it: the file is empty"):
        store.load(run.id)


def test_ids_come_newest_first_and_are_ids_alone(store: TraceStore) -> None:
    runs = [Run(question="why?") for _ in range(3)]
    for number, run in enumerate(runs):
        os.utime(store.append(run), ns=(number, number))
    for other in ("README.md", "x.jsonl", f"{'c' * 32}.jsonl.bak"):
        (store.directory / other).touch()
    (store.directory / f"{'d' * 32}.jsonl").mkdir()
    (store.directory / f"{'e' * 32}.jsonl").symlink_to("gone")
    assert list(store.ids()) == [run.id for run in reversed(runs)]


def test_a_trace_of_which_nobody_can_tell_whether_it_is_there_is_said(store: TraceStore) -> None:
    store.append(Run(question="why?"))
    (store.directory / f"{'e' * 32}.jsonl").symlink_to("n" * 300)
    with pytest.raises(StorageError, match=r"cannot look for .*eeee\.jsonl: File name too long"):
        list(store.ids())


WRITER = """
import sys
from micro_agent.run import Run
from micro_agent.traces import TraceStore

store = TraceStore(sys.argv[1], state_dir=sys.argv[1])
for number in range(int(sys.argv[3])):
    run = Run(question=sys.argv[2] + " " + str(number), answer="x" * (number % 3 * 50_000))
    store.append(run)
    run.id = "0" * 32
    store.append(run)
print("done")
"""


def test_eight_writers_of_one_folder_lose_nothing(store: TraceStore, warm: Warm) -> None:
    writers = [warm.start("-c", WRITER, store.directory, name, "30", stdout=subprocess.PIPE) for name in "abcdefgh"]
    assert [writer.communicate()[0] for writer in writers] == [b"done\n"] * 8
    shared = [record.run for record in read_records(store.path("0" * 32))]
    questions = {run.question for run in shared if run}
    assert (len(shared), len(questions)) == (240, 240)
    assert len(list(store.ids())) == 241
    for run in shared:
        assert run is not None
        assert set(run.answer or "x") == {"x"}


def test_an_append_waits_for_a_writer_that_is_in_the_middle_of_a_line(store: TraceStore) -> None:
    run = Run(question="why?")
    path = store.append(run)
    line = path.read_bytes()
    appending = threading.Thread(target=store.append, args=(run,))
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line[:40])
        appending.start()
        appending.join(timeout=0.3)  # time for an append that does not wait to spoil the line
        file.write(line[40:])
    appending.join()
    assert [record.run for record in read_records(path)] == [run] * 3


FULL = """
import resource, sys
from micro_agent.errors import StorageError
from micro_agent.run import Run
from micro_agent.traces import TraceStore

store = TraceStore(sys.argv[1], state_dir=sys.argv[1])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
for size in (5000, 20000, 1000):
    try:
        store.append(Run(id="0" * 32, question="x" * size))
    except StorageError as error:
        print(error)
try:
    Run(question="x" * 20000).save(sys.argv[1] + "/run.json")
except StorageError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
"""


def test_a_full_disk_costs_the_record_that_did_not_fit_and_no_other(store: TraceStore) -> None:
    too_large, not_saved = python(FULL, store.directory).communicate()[0].splitlines()
    assert "cannot write to" in too_large
    assert "File too large; raise the limit on file sizes" in too_large
    assert "cannot save the run to" in not_saved
    assert [len(record.run.question) for record in read_records(store.path("0" * 32)) if record.run] == [5000, 1000]
    assert os.listdir(store.directory) == ["0" * 32 + ".jsonl"]


READ_ONLY = """
import os, sys
from pathlib import Path
from micro_agent.errors import StorageError
from micro_agent.files.masking import Mask
from micro_agent.storage.records import append_record
from micro_agent.run import Run
from micro_agent.traces import TraceStore

user = os.geteuid()
if user == 0:  # for whom no folder is read-only
    os.seteuid(65534)
folder = Path(sys.argv[1])
store = TraceStore(folder / "traces", state_dir=folder / "state")
(folder / "blind").mkdir(0o300)
blind = folder / "blind" / "trace"
run = Run(id="0" * 32, question="why?")
for write in (store.append, store.start, lambda run: append_record(blind, run, mask=Mask(), durable=True)):
    try:
        write(run)
    except StorageError as error:
        print(error)
(held,) = store.open_runs()
print(held.damage)
(folder / "blind").chmod(0o700)
os.seteuid(user)
"""


def test_a_folder_that_may_not_be_used_says_what_to_do() -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        store = TraceStore(folder / "traces", state_dir=folder / "state")
        store.append(Run(question="why?"))
        store.start(Run(id="1" * 32, question="why?")).close()
        (folder / "state" / "runs" / f"{'1' * 32}.journal").chmod(0)
        for part, mode in (("", 0o777), ("state", 0o755), ("state/runs", 0o555), ("traces", 0o555)):
            (folder / part).chmod(mode)
        said = python(READ_ONLY, folder).communicate()[0].splitlines()
        (folder / "state" / "runs").chmod(0o700)
        (folder / "traces").chmod(0o700)
    assert said[0].startswith("cannot open the trace")
    assert said[1].startswith("cannot create the journal")
    assert said[2].startswith("cannot write the trace")  # it may not be durable: its folder cannot be synced
    for line in said[:3]:
        assert "Permission denied; give this user the right to it, or set TRACES_DIR and MICRO_AGENT_STATE_DIR" in line
    assert said[3] == "cannot be read: Permission denied"


def test_open_runs_are_listed_with_what_they_wait_for(store: TraceStore) -> None:
    question: dict[str, Any] = {"tool": "send", "args": {}, "call": 0, "call_id": None}
    question["sha256"] = digest_of(question)
    busy = Run(question="busy")
    held = store.start(busy)
    waiting = Run(question="waiting")
    journal = store.start(waiting)
    journal.asked(question)
    journal.close()
    found = {run.question: run for run in store.open_runs()}
    assert found["busy"] == OpenRun(busy.id, "busy", busy.ts, "running", busy=True)
    assert found["waiting"] == OpenRun(
        waiting.id, "waiting", waiting.ts, "confirmation_required", confirmation=question
    )
    store.decide(waiting.id, "reject")
    found = {run.question: run for run in store.open_runs()}
    assert (found["waiting"].status, found["waiting"].decision) == ("running", "reject")
    held.ended(busy.model_copy(update={"status": "completed"}))
    held.close()
    assert {run.status for run in store.open_runs() if run.question == "busy"} == {"completed"}


def test_a_run_under_way_can_be_looked_at(store: TraceStore) -> None:
    run = Run(question="why?")
    journal = store.start(run)
    assert store.peek(run.id) == run
    journal.finish(run)
    with pytest.raises(RunNotFound, match="it has ended"):
        store.peek(run.id)


def test_damaged_journals_are_listed_not_hidden(store: TraceStore) -> None:
    store.start(Run(id="a" * 32, question="torn")).close()
    runs = store.state_dir / "runs"
    with (runs / f"{'a' * 32}.journal").open("ab") as file:
        file.write(b"{")
    (runs / f"{'b' * 32}.journal").touch()
    os.mkfifo(runs / f"{'c' * 32}.journal")
    (runs / f"{'d' * 32}.journal").symlink_to("gone")
    (runs / "notes.journal").touch()
    found = {run.id[0]: run for run in store.open_runs()}
    assert set(found) == {"a", "b", "c"}
    assert found["c"].damage == "cannot be read: not a regular file"
    assert (found["a"].question, found["a"].damage) == ("torn", "line 2: cut off while it was written")
    assert found["b"].question is None
    assert found["b"].damage is not None
    assert found["b"].damage.startswith("no event starts a run")


def test_a_folder_that_is_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot read the folder"):
        list(TraceStore(tmp_path / "file", state_dir=tmp_path).ids())
    with pytest.raises(StorageError, match="a file is in the place of a folder: move it away"):
        TraceStore(tmp_path / "file", state_dir=tmp_path).append(Run(question="why?"))


def test_saving_and_loading_are_here_too(tmp_path: Path) -> None:
    run = Run(question="why?")
    assert Run.load(run.save(tmp_path / "run.json")) == run
    assert json.loads((tmp_path / "run.json").read_text())["question"] == "why?"
