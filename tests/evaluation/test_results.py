"""A result file: what is written is there, what is damaged is said, and a second writer is refused."""

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError, RunBusy, StorageError
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.results import ResultFile, counted, read_results
from micro_agent.evaluation.task import Task
from micro_agent.files.masking import mask_of
from micro_agent.run import Run, Usage


def header(tasks: int = 3, **more: Any) -> Header:
    return Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=[f"t{n}" for n in range(tasks)], **more)


def result(
    task: int = 0, *, epoch: int = 0, success: bool = True, failed: bool = False, cost: float | None = 0.5,
    question: str = "Why?",
) -> Result:  # fmt: skip
    run = Run(question=question, status="failed" if failed else "completed", usage=Usage(cost_usd=cost))
    checks = [Check(name="contains", passed=success)]
    return Result(
        task=Task(id=f"t{task}", question=question, expect_contains=["x"]), epoch=epoch, run=run, wall_s=0.1,
        checks=checks, score=float(success), success=success,
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evals" / "results" / "one.jsonl"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    ours = logging.getLogger("micro_agent")
    before, ours.propagate = ours.propagate, True
    yield caplog
    ours.propagate = before


def written(path: Path, *results: Result) -> Path:
    with ResultFile.create(path, header()) as file:
        for one in results:
            file.append(one)
    return path


def keys(path: Path) -> list[tuple[str, int]]:
    return [one.key for one in read_results(path)[1]]


def test_what_is_written_is_read_back(path: Path):
    one, two = result(0), result(1, epoch=2, success=False)
    head = header(seed=7, epochs=3)
    with ResultFile.create(path, head) as file:
        file.append(one)
        file.append(two)
        assert (file.done, file.solved, file.errors) == ({("t0", 0), ("t1", 2)}, {("t0", 0)}, set())
        read, results = read_results(path)
        assert (read, list(results)) == (head, [one, two])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_text().count("\n") == 3


def test_a_line_with_nul_bytes_before_it_is_read(path: Path):
    content = written(path, result(0), result(1)).read_bytes()
    path.write_bytes(content.replace(b'{"kind":"result"', b'\0\0{"kind":"result"', 1))
    assert keys(path) == [("t0", 0), ("t1", 0)]
    with ResultFile.resume(path) as file:
        assert file.done == {("t0", 0), ("t1", 0)}


def test_a_result_that_is_a_line_already_counts_as_one_that_is_encoded_here(path: Path):
    one, two = result(0, failed=True, success=False), result(0, cost=None)
    with ResultFile.create(path, header()) as file:
        file.append_line(mask_of().encode(one), counted(one))
        assert (file.done, file.errors, file.solved, file.cost_usd) == ({("t0", 0)}, {("t0", 0)}, set(), 0.5)
        file.append_line(mask_of().encode(two), counted(two))
        assert (file.done, file.errors, file.solved, file.cost_usd) == ({("t0", 0)}, set(), {("t0", 0)}, None)
    assert list(read_results(path)[1]) == [two]


def test_a_file_that_is_there_is_not_written_over(path: Path):
    before = written(path).read_bytes()
    with pytest.raises(ConfigurationError, match=r"one\.jsonl is there already"):
        ResultFile.create(path, header())
    assert path.read_bytes() == before


def test_a_resumed_file_knows_what_is_done_and_what_it_cost(path: Path):
    written(path, result(0), result(1, failed=True, success=False), result(2, success=False, cost=0.25))
    with ResultFile.resume(path) as file:
        assert file.header.tasks == ["t0", "t1", "t2"]
        assert file.done == {("t0", 0), ("t1", 0), ("t2", 0)}
        assert (file.errors, file.solved, file.cost_usd) == ({("t1", 0)}, {("t0", 0)}, 1.25)
        file.append(result(1))
        assert (file.errors, file.solved) == (set(), {("t0", 0), ("t1", 0)})
    with ResultFile.resume(path) as again:
        assert (again.errors, again.solved, again.cost_usd) == (set(), {("t0", 0), ("t1", 0)}, 1.75)
        again.append(result(0, epoch=1, cost=None))
        assert again.cost_usd is None
    with ResultFile.resume(path) as unknown:
        assert unknown.cost_usd is None


def test_of_two_results_with_one_key_the_later_counts_at_its_first_place(path: Path):
    written(path, result(0, success=False), result(1), result(0), result(2))
    assert [(one.key, one.success) for one in read_results(path)[1]] == [
        (("t0", 0), True), (("t1", 0), True), (("t2", 0), True),
    ]  # fmt: skip


def test_a_later_line_that_is_damaged_does_not_hide_the_earlier_one(path: Path, log: pytest.LogCaptureFixture):
    bad = json.loads(result(0, success=False).model_dump_json())
    bad["score"] = "much"
    with written(path, result(0), result(1)).open("a") as file:
        file.write(json.dumps(bad) + "\n")
    assert [(one.key, one.success) for one in read_results(path)[1]] == [(("t0", 0), True), (("t1", 0), True)]
    assert "one.jsonl, line 4: not a result: score: Input should be a valid number" in log.text
    with ResultFile.resume(path) as resumed:
        assert resumed.solved == {("t0", 0), ("t1", 0)}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("garbage", "line 3: not readable: not JSON"),
        ("[1]", "line 3: not readable: a JSON list, not an object"),
        ('{"kind": "result"}', "line 3: not a result"),
        ('{"kind": "note", "task": {"id": "t9"}}', "line 3: not a result"),
        ('{"kind": "result", "task": {"id": ["t9"]}}', "line 3: not a result"),
        ('{"kind": "result", "task": {"id": "t9"}, "epoch": "one"}', "line 3: not a result"),
        ('{"kind": "result", "task": {"id": "t9"}}', "line 3: not a result: task.question: Field required"),
    ],
)
def test_a_damaged_line_is_said_and_the_rest_is_read(
    line: str, says: str, path: Path, log: pytest.LogCaptureFixture
):  # fmt: skip
    first, second = written(path, result(0)).read_text().splitlines()
    path.write_text("\n".join([first, second, line, "", result(1).model_dump_json(), ""]))
    assert keys(path) == [("t0", 0), ("t1", 0)]
    assert says in log.text
    assert log.text.count("one.jsonl, line") == 1
    with ResultFile.resume(path) as file:
        assert file.done == {("t0", 0), ("t1", 0)}


@given(cut=st.integers(min_value=1))
def test_a_last_line_that_was_cut_off_anywhere_is_no_result(cut: int, tmp_path_factory: pytest.TempPathFactory):
    path = written(tmp_path_factory.mktemp("cut") / "one.jsonl", result(0), result(1))
    whole = path.read_bytes()
    before, last = whole[: whole[:-1].rindex(b"\n") + 1], whole[whole[:-1].rindex(b"\n") + 1 :]
    path.write_bytes(before + last[: cut % len(last)])
    assert keys(path) == [("t0", 0)]
    with ResultFile.resume(path) as file:
        assert (file.done, file.cost_usd) == ({("t0", 0)}, 0.5)
        assert path.read_bytes() == before
        file.append(result(1))
    assert keys(path) == [("t0", 0), ("t1", 0)]
    assert path.read_bytes().count(b"\n") == whole.count(b"\n")


def test_a_line_that_is_cut_off_is_said(path: Path, log: pytest.LogCaptureFixture):
    with written(path, result(0)).open("a") as file:
        file.write('{"kind": "result"')
    assert keys(path) == [("t0", 0)]
    assert "line 3: cut off while it was written; the line does not count" in log.text
    ResultFile.resume(path).close()
    assert "the last line was cut off while it was written; its 17 bytes are removed" in log.text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it does not begin with a header"),
        (b"\n\n", "it does not begin with a header"),
        (b'{"kind": "header"', "it does not begin with a header"),
        (b'{"id": "0"}\n', "it does not begin with a header"),
        (b'{"kind": "header", "schema_version": 99}\n', "is of version 99, 1 is known: update micro-agent"),
        (b'{"kind": "header", "schema_version": 1}\n', "is damaged: dataset: Field required"),
    ],
)
def test_what_is_no_result_file_is_said_in_one_line(content: bytes, says: str, tmp_path: Path):
    path = tmp_path / "one.jsonl"
    path.write_bytes(content)
    for door in (read_results, ResultFile.resume):
        with pytest.raises(StorageError, match="one.jsonl.*" + says):
            door(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError, match="not a regular file"):
        read_results(path)
    with pytest.raises(StorageError, match="directory"):
        ResultFile.resume(path)
    path.rmdir()
    for door in (read_results, ResultFile.resume):
        with pytest.raises(StorageError, match="No such file"):
            door(path)


def test_a_file_that_cannot_be_made_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot create the result file"):
        ResultFile.create(tmp_path / "file" / "one.jsonl", header())
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(StorageError, match="cannot be written as JSON"):
        ResultFile.create(tmp_path / "one.jsonl", header(settings={"x": circle}))
    assert not (tmp_path / "one.jsonl").exists()


def test_a_second_writer_is_refused_while_the_first_lives(path: Path):
    with ResultFile.create(path, header()) as file:
        with pytest.raises(RunBusy, match=r"another process writes to .*one\.jsonl: wait for it"):
            ResultFile.resume(path)
        file.append(result())
    ResultFile.resume(path).close()


def test_a_closed_file_takes_nothing(path: Path):
    file = ResultFile.create(path, header())
    file.close()
    file.close()
    with pytest.raises(StorageError, match="is closed"):
        file.append(result())
    assert keys(path) == []


def test_a_file_that_changes_while_it_is_read_is_said(path: Path):
    _, results = read_results(written(path, result(0), result(1)))
    next(results)
    path.write_bytes(path.read_bytes().replace(b"{", b"[", 3))
    _, again = read_results(written(path.with_name("two.jsonl"), result(0)))
    path.with_name("two.jsonl").unlink()
    with pytest.raises(StorageError, match="changed while it was read"):
        next(again)


def test_secrets_are_masked(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_API_KEY", "hunter2-hunter2")
    written(path, result(question="Is it hunter2-hunter2?"))
    assert b"hunter2" not in path.read_bytes()
    assert next(read_results(path)[1]).run.question == "Is it [env:SHOP_API_KEY]?"


def test_threads_write_whole_lines(path: Path):
    with ResultFile.create(path, header()) as file:

        def write(epoch: int) -> None:
            for task in range(50):
                file.append(result(task, epoch=epoch, question="ä" * 5000))

        threads = [Thread(target=write, args=(epoch,)) for epoch in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(file.done) == 200
    assert sorted(keys(path)) == sorted((f"t{task}", epoch) for task in range(50) for epoch in range(4))
