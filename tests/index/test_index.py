"""The index of traces: real traces of a real store, in a real database."""

import fcntl
import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from micro_agent.index import Exemplar
from micro_agent.run import Step, new_id
from tests.index.desk import CALLS, PAGER, STEPS, Desk


def test_a_past_success_is_found_with_its_calls(desk: Desk) -> None:
    run = desk.ran()
    desk.ran("Write a poem about rain")
    assert desk.index.exemplars(PAGER) == []  # nothing was made yet
    assert desk.index.refresh()
    assert desk.index.exemplars("the PAGER is off by 2") == [Exemplar(run.id, PAGER, CALLS)]
    assert desk.index.exemplars(PAGER, 0) == []
    assert desk.index.exemplars("") == []
    assert desk.index.exemplars(PAGER, without={run.id}) == []
    assert desk.index.exemplars(PAGER, usable=lambda one: one.run_id != run.id) == []
    assert desk.said == []
    assert {path.stat().st_mode & 0o777 for path in desk.store.state_dir.glob("index*")} == {0o600}


NOT_GOOD: list[dict[str, Any]] = [
    {"status": "stopped", "termination_reason": "policy"},
    {"status": "failed"},
    {"status": "confirmation_required"},
    {"answer": None},
    {"error": {"code": "X"}},
    {"follows": new_id()},
    {"steps": []},
    {"question": " \n"},
    {"gates": {"all_passed": False}},
    {"steps": [*STEPS, Step(tool="propose_patch", observation={"approved": False})]},
    {"steps": [*STEPS, Step(tool="propose_patch", observation="cut", result={"approved": False})]},
    {"steps": [*STEPS, Step(tool="apply_patch", ok=False, error="APPROVAL_REQUIRED")]},
    {"steps": [*STEPS, Step(tool="run_cmd", ok=False, error="APPROVAL_REJECTED")]},
    {"steps": [*STEPS, Step(tool="run_tests", observation={"ok": False, "cmd": "pytest"})]},
]


def test_what_did_not_end_well_is_never_an_example(desk: Desk) -> None:
    for fields in NOT_GOOD:
        desk.ran(**fields)
    assert desk.ids() == []
    good = desk.ran(gates={"all_passed": True}, coach={"kind": "coding"})
    assert desk.ids(kind="coding") == [good.id]
    assert desk.ids(kind="other") == []


def test_the_last_record_of_a_run_counts(desk: Desk) -> None:
    run = desk.ran(status="confirmation_required")
    assert desk.ids() == []
    run.status = "completed"
    desk.store.append(run)
    assert desk.ids() == [run.id]
    run.status = "failed"
    desk.store.append(run)
    assert desk.index.exemplars(PAGER) == []  # the trace is another by now: what the index has of it is not shown
    assert desk.ids() == []


def test_the_newest_of_the_same_task_is_shown_and_after_it_the_one_before(desk: Desk) -> None:
    old, new = desk.ran(ts="2026-01-01T00:00:00.000Z"), desk.ran(ts="2026-02-01T00:00:00.000Z")
    near = desk.ran(f"{PAGER}!  please", ts="2025-01-01T00:00:00.000Z")
    other = desk.ran("The pager shows an empty page")
    assert desk.ids() in ([new.id, other.id], [near.id, other.id])
    older = desk.ran(ts="2025-01-01T00:00:00.000Z")
    desk.store.path(near.id).unlink()
    assert desk.ids() == [new.id, other.id]
    desk.store.path(new.id).unlink()
    assert desk.index.exemplars(PAGER, 1)[0].run_id == other.id  # not yet taken in, and not shown
    assert desk.ids(most=1) == [old.id]
    desk.store.path(old.id).unlink()
    desk.store.path(older.id).unlink()
    assert desk.ids() == [other.id]


def test_a_trace_that_shrank_is_read_again_and_one_that_is_torn_as_far_as_it_goes(desk: Desk) -> None:
    run = desk.ran()
    path = desk.store.path(run.id)
    whole = path.read_bytes()
    assert desk.ids() == [run.id]
    with path.open("ab") as file:
        file.write(whole.replace(b'"completed"', b'"failed"')[:-20])  # a record that is being written
    assert desk.ids() == [run.id]
    with path.open("ab") as file:
        file.write(b'\n\n[1]\n{"id": "\\ud800"}\n')
    assert desk.ids() == [run.id]  # no line of it is a run
    with path.open("ab") as file:
        file.write(whole.replace(b'"completed"', b'"failed"'))
    assert desk.ids() == []
    path.write_bytes(whole)
    assert desk.ids() == [run.id]
    path.write_bytes(b"")
    assert desk.ids() == []
    path.write_bytes(whole.replace(run.id.encode(), new_id().encode()))
    assert desk.ids() == []


def test_other_files_and_folders_are_passed_over(desk: Desk) -> None:
    run = desk.ran()
    (desk.store.directory / "notes.jsonl").write_text("{}")
    (desk.store.directory / f"{new_id()}.jsonl").mkdir()
    (desk.store.directory / f"{new_id()}.jsonl").symlink_to("nowhere")
    circle = f"{new_id()}.jsonl"
    (desk.store.directory / circle).symlink_to(circle)
    (desk.store.directory / f"{new_id().upper()[:31]}X.jsonl").write_text("{}")
    assert desk.ids() == [run.id]
    assert Desk(desk.store.directory / "none").index.refresh()  # no folder of traces: nothing in it


def test_words_of_text_are_words_and_nothing_else(desk: Desk) -> None:
    run = desk.ran('pager AND NOT "quoted" OR task:* NEAR(x)')
    for task in (
        'pager AND NOT "quoted"',
        "pager) OR (quoted",
        "task : pager *",
        "pager\0quoted",
        '"pager quoted',
        "^pager -x",
    ):
        assert desk.ids(task) == [run.id]


def test_common_words_choose_only_where_all_are(desk: Desk) -> None:
    like = desk.ran("another one", steps=STEPS[:1]).model_dump()
    for number in range(510):
        run_id = f"{number:032x}"
        record = {**like, "id": run_id, "question": f"common words word{number}"}
        desk.store.path(run_id).write_text(json.dumps(record) + "\n")
    assert len(desk.ids("common words")) == 3
    assert [one.task for one in desk.index.exemplars("common words word77", 1)] == ["common words word77"]
    assert desk.index.exemplars("unknown") == []
    many = " ".join(f"word{number}" for number in range(60))
    assert desk.index.exemplars(many) == []  # one word in common is chance


def test_a_damaged_index_is_made_again_and_that_is_said_once(desk: Desk) -> None:
    run = desk.ran()
    for content in (b"nothing of SQLite's" * 100, b""):
        assert desk.index.refresh()
        desk.index.path.write_bytes(content)
        assert desk.ids() == [run.id]
    desk.index.path.write_bytes(b"nothing of SQLite's" * 100)
    assert desk.index.exemplars(PAGER) == []
    assert desk.ids() == [run.id]
    assert len(desk.said) == 1
    assert "made again" in desk.said[0]
    assert desk.index.rebuild()
    with sqlite3.connect(desk.index.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert desk.ids() == [run.id]
    with sqlite3.connect(desk.index.path) as connection:
        connection.execute("DROP TABLE runs")
    connection.close()
    assert desk.ids() == [run.id]
    assert len(desk.said) == 2


class Removing(sqlite3.Connection):
    """A connection of a process beside which another one removes the traces, after they were listed."""

    traces: Path

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql.startswith("SELECT id, run FROM changed"):
            for path in self.traces.glob("*.jsonl"):
                path.unlink()
        return super().execute(sql, *args)


def test_a_trace_that_goes_while_it_is_taken_in_is_none(desk: Desk) -> None:
    desk.ran()
    Removing.traces = desk.store.directory

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(*args, factory=Removing, **options)

    assert desk.another(connect=connect).refresh()
    assert desk.ids() == []


class Hasty(sqlite3.Connection):
    """A connection of a process beside which another one changes the folder while it is listed."""

    traces: Path
    folders = False

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        return super().executemany(sql, self._passed(rows) if "INTO there" in sql else rows)

    def _passed(self, rows: Any) -> Any:
        paths = list(self.traces.glob("*.jsonl"))
        for row in rows:
            yield row
            while paths:
                (path := paths.pop()).unlink()
                if self.folders:
                    path.mkdir()


def test_a_folder_that_changes_while_it_is_listed_is_seen_as_it_is_the_next_time(desk: Desk) -> None:
    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(*args, factory=Hasty, **options)

    Hasty.traces = desk.store.directory
    for Hasty.folders in (True, False):
        for _ in range(3):
            desk.ran()
        assert desk.another(connect=connect).refresh()
        assert desk.ids() == []
        for path in desk.store.directory.iterdir():
            path.rmdir()
    assert desk.said == []


class WithoutFts5(sqlite3.Connection):
    """A connection of a build that has no FTS5, by what it is asked to make."""

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("fts5", "fts5_missing"), *args)


def test_where_there_is_no_index_to_be_had_nothing_is_found_and_that_is_said_once(desk: Desk, tmp_path: Path) -> None:
    desk.ran()

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(*args, factory=WithoutFts5, **options)

    without = desk.another(connect=connect)
    for _ in range(2):
        assert not without.refresh()
        assert without.statistics(lambda ids: ()) is None
        assert without.newest(3) is None
        assert without.path.exists()
        assert without.exemplars(PAGER) == []
    assert desk.said == ["this build of SQLite has no FTS5: there are no examples from past runs"]
    assert desk.index.rebuild()
    (tmp_path / "file").write_text("")
    desk.store.state_dir = tmp_path / "file"
    assert not desk.another().refresh()
    assert "cannot be used" in desk.said[1]
    (tmp_path / "loop").symlink_to("loop")
    desk.store.state_dir, desk.store.directory = tmp_path / "other", tmp_path / "loop"
    assert not desk.another().refresh()
    assert "cannot be used" in desk.said[2]


class Refusing(sqlite3.Connection):
    """A connection that cannot write a row."""

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql.startswith("INSERT INTO runs"):
            return super().execute("INSERT INTO nothing_there VALUES (1)")
        return super().execute(sql, *args)


def test_an_index_that_stays_damaged_is_given_up(desk: Desk) -> None:
    desk.ran()

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(*args, factory=Refusing, **options)

    assert not desk.another(connect=connect).refresh()
    assert len(desk.said) == 2


def test_an_index_that_another_program_keeps_locked_is_not_damaged(desk: Desk) -> None:
    run = desk.ran()
    assert desk.index.refresh()
    desk.ran("Another task of the pager")

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(*args, **{**options, "timeout": 0})

    with closing(sqlite3.connect(desk.index.path)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert not desk.another(connect=connect).refresh()
        assert [one.run_id for one in desk.index.exemplars(PAGER)] == [run.id]
    assert len(desk.said) == 1
    assert "locked" in desk.said[0]
    assert len(desk.ids()) == 2


def test_taking_in_is_bounded_and_goes_on_the_next_time(desk: Desk) -> None:
    run = desk.ran()
    assert not desk.index.refresh(-1)
    assert desk.index.exemplars(PAGER) == []
    assert desk.index.refresh(60)
    assert desk.index.exemplars(PAGER)[0].run_id == run.id


def test_who_comes_while_another_writes_waits_no_longer_than_it_may(desk: Desk) -> None:
    desk.ran()
    assert desk.index.refresh()
    held = os.open(desk.index.path.with_suffix(".lock"), os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert not desk.index.refresh(0.03)
    assert len(desk.index.exemplars(PAGER)) == 1  # readers do not wait
    desk.index.path.write_bytes(b"nothing of SQLite's" * 100)
    assert desk.index.exemplars(PAGER) == []
    os.close(held)
    assert len(desk.ids()) == 1


def test_any_number_of_threads_use_one_index(desk: Desk) -> None:
    runs = [desk.ran(f"{PAGER} number{number}").id for number in range(20)]

    def work(number: int) -> bool:
        mine = desk.another()
        if number == 3:
            mine.rebuild()
        return mine.refresh() and len(mine.exemplars(PAGER)) <= 3

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))
    assert desk.said == []
    assert set(desk.ids("number7")) <= set(runs)
