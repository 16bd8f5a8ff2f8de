"""Scoring a result file again: what changes, what is kept, and what is said."""

import stat
from pathlib import Path
from typing import Any

import pytest

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation.datasets import Dataset
from micro_agent.evaluation.rescore import Rescored, rescore
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.scorers import score
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Step

LAX = Rubric(weights={"tools": 0.0})


def task(name: str = "a", *, question: str = "q", number: int = 16, **more: Any) -> Task:
    return Task.model_validate(
        {"id": name, "question": question, "expect_number": number, "expect_tools": ["calculator"]} | more
    )


def result(asked: Task, answer: str = "16", *, tool: str = "calculator", epoch: int = 0, **more: Any) -> Result:
    """A trial, scored with the rubric that all start from."""
    run = Run(question=asked.question, model_answer=answer, status="completed", steps=[Step(tool=tool, observation=16)])
    checks, share, success = score(asked, run, Rubric())
    return Result(task=asked, epoch=epoch, run=run, wall_s=1.5, checks=checks, score=share, success=success, **more)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Three results: a success, one with a wrong tool, one with a wrong number."""
    results = [result(task("right")), result(task("tool"), tool="now"), result(task("number"), "17", epoch=1)]
    return written(tmp_path / "old.jsonl", *results)


def written(path: Path, *results: Result) -> Path:
    header = Header(dataset="tasks.yaml", dataset_sha256="0" * 64, tasks=["right", "tool", "number"])
    with ResultFile.create(path, header) as file:
        for one in results:
            file.append(one)
    return path


def dataset(*tasks: Task) -> Dataset:
    return Dataset(list(tasks), "newer.yaml", "1" * 64)


def scores(path: Path) -> dict[str, tuple[float, bool]]:
    return {one.task.id: (one.score, one.success) for one in read_results(path)[1]}


def test_the_same_rubric_and_tasks_give_the_same_file(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.jsonl"
    assert rescore(source, target) == Rescored(trials=3)
    assert target.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.jsonl", "old.jsonl"]


def test_another_rubric_counts_from_now_on(source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    report = rescore(source, tmp_path / "new.jsonl", LAX)
    assert report == Rescored(trials=3, gained=[("tool", 0)], changed=[("tool", 0), ("number", 1)])
    assert scores(source) == {"right": (1, True), "tool": (0.5, False), "number": (0.5, False)}
    assert scores(tmp_path / "new.jsonl") == {"right": (1, True), "tool": (1, True), "number": (0, False)}
    assert read_results(tmp_path / "new.jsonl")[0] == read_results(source)[0].model_copy(update={"rubric": LAX})
    assert source.read_bytes() == before
    back = rescore(tmp_path / "new.jsonl", tmp_path / "back.jsonl", Rubric())
    assert back.lost == [("tool", 0)]
    assert (tmp_path / "back.jsonl").read_bytes() == before


def test_a_lower_bar_makes_a_success_of_the_same_score(source: Path, tmp_path: Path) -> None:
    report = rescore(source, tmp_path / "new.jsonl", Rubric(pass_score=0.5))
    assert report == Rescored(trials=3, gained=[("tool", 0), ("number", 1)])


def test_the_rubric_of_the_file_holds_when_none_is_given(source: Path, tmp_path: Path) -> None:
    rescore(source, tmp_path / "lax.jsonl", LAX)
    assert rescore(tmp_path / "lax.jsonl", tmp_path / "again.jsonl") == Rescored(trials=3)


def test_corrected_expectations_are_taken_for_the_same_question_only(source: Path, tmp_path: Path) -> None:
    newer = dataset(task("right", number=17, tags=["new"]), task("number", number=17), task("tool", question="other?"))
    report = rescore(source, tmp_path / "new.jsonl", tasks=newer)
    assert report.gained == [("number", 1)]
    assert report.lost == [("right", 0)]
    assert report.renewed == {"right", "number"}
    assert report.other_question == {"tool"}
    header, results = read_results(tmp_path / "new.jsonl")
    assert (header.dataset, header.dataset_sha256, header.rubric) == ("newer.yaml", "1" * 64, Rubric())
    tasks = {one.task.id: one.task for one in results}
    assert tasks == {"right": newer.tasks[0], "number": newer.tasks[1], "tool": task("tool")}


def test_tasks_that_the_dataset_does_not_have_or_change_are_kept(source: Path, tmp_path: Path) -> None:
    report = rescore(source, tmp_path / "new.jsonl", tasks=dataset(task("right"), task("more")))
    assert report == Rescored(trials=3, not_in_dataset={"tool", "number"})


def test_all_lines_are_kept_and_the_last_of_a_key_is_counted(tmp_path: Path) -> None:
    source = written(tmp_path / "old.jsonl", result(task(), tool="now"), result(task(), "17"), result(task(), epoch=1))
    report = rescore(source, tmp_path / "new.jsonl", LAX)
    assert report == Rescored(trials=2, changed=[("a", 0)])
    assert (tmp_path / "new.jsonl").read_bytes().count(b"\n") == 4


def test_what_a_newer_version_wrote_is_kept(tmp_path: Path) -> None:
    source = written(tmp_path / "old.jsonl", result(task(), "17", reviewed={"by": "a person"}))
    rescore(source, tmp_path / "new.jsonl", LAX)
    (kept,) = read_results(tmp_path / "new.jsonl")[1]
    assert kept.model_extra == {"reviewed": {"by": "a person"}}


def test_lines_that_are_no_result_are_reported(source: Path, tmp_path: Path) -> None:
    lines = source.read_bytes().splitlines(keepends=True)
    damaged = [lines[0], b"\n", lines[1][:100] + b"\n", b'{"kind": "result", "task": {}}\n', lines[2], lines[3][:-1]]
    source.write_bytes(b"".join(damaged))
    report = rescore(source, tmp_path / "new.jsonl")
    assert report.trials == 1
    assert list(scores(tmp_path / "new.jsonl")) == ["tool"]
    assert [fault.partition(":")[0] for fault in report.faults] == ["line 3", "line 4", "line 6"]
    assert "not readable: not JSON" in report.faults[0]
    assert report.faults[1] == "line 4: not a result: task.question: Field required"
    assert report.faults[2] == "line 6: cut off while it was written"


def test_secrets_of_today_are_masked(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ResultFile.resume(source) as file:
        file.append(result(task("secret"), "the key is hunter2-hunter2"))
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2-hunter2")
    rescore(source, tmp_path / "new.jsonl")
    assert b"hunter2" not in (tmp_path / "new.jsonl").read_bytes()
    assert b"[env:SERVICE_TOKEN]" in (tmp_path / "new.jsonl").read_bytes()


def test_a_file_that_is_there_is_never_replaced(source: Path, tmp_path: Path) -> None:
    for target in (source, tmp_path / "link"):
        if target != source:
            target.symlink_to("nowhere")
        with pytest.raises(ConfigurationError, match="is there already: choose another name"):
            rescore(source, target)
    assert len(scores(source)) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "not a result file"), (b'{"kind": "result"}\n', "not a result file"), (b'{"kind": "header"}\n', "damaged")],
)
def test_a_file_of_another_kind_is_refused(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_bytes(content)
    with pytest.raises(StorageError, match=says):
        rescore(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read the result file .*none.jsonl: No such file"):
        rescore(tmp_path / "none.jsonl", tmp_path / "new.jsonl")


def test_a_file_that_cannot_be_written_leaves_nothing(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot create the result file"):
        rescore(source, tmp_path / "file" / "new.jsonl")
    rescore(source, folder / ("n" * 255))
    with pytest.raises(StorageError, match=r"cannot write the result file .*File name too long"):
        rescore(source, folder / ("n" * 256))
    assert [len(path.name) for path in folder.iterdir()] == [255]
