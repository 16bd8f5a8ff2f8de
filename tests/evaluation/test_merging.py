"""Shards of an eval, merged: the file of a single run, or one line that says which file is wrong and what to do."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation.merging import merge
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.shards import Shard, shard_of
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Usage
from tests.each import each

TASKS = [f"t{n}" for n in (3, 1, 4, 0, 5, 9, 2, 6)]
SETTINGS = {"model": "m", "base_url": "http://one", "digests": {"tools": "a", "demos": "b"}, "demos": None}


def header(shard: str | None = None, **more: Any) -> Header:
    given: dict[str, Any] = {
        "dataset": "t.yaml",
        "dataset_sha256": "0" * 64,
        "tasks": TASKS,
        "epochs": 2,
        "settings": SETTINGS,
    }
    whole: dict[str, Any] = {**given, "shard": shard, **more}
    return Header(**whole)


def result(task: str, epoch: int = 0, *, trace: str | None = None, failed: bool = False, cost: float = 0.5) -> Result:
    run = Run(id="0" * 32, question=task, status="failed" if failed else "completed", usage=Usage(cost_usd=cost))
    return Result(
        task=Task(id=task, question=task, expect_contains=["x"]), epoch=epoch, run=run, trace=trace,
        checks=[Check(name="contains", passed=True)], score=1, success=not failed,
    )  # fmt: skip


RUN = Run(question="q")
"""One moment for all results: what else they hold is the same in each run."""


def same(one: Result) -> Result:
    return one.model_copy(update={"run": one.run.model_copy(update={"ts": RUN.ts})})


def write(path: Path, head: Header, *results: Result) -> Path:
    with ResultFile.create(path, head) as file:
        for one in results:
            file.append(same(one))
    return path


def keys_of(shard: str) -> list[tuple[str, int]]:
    one = Shard.parse(shard)
    return [(task, epoch) for epoch in range(2) for task in TASKS if one.holds((task, epoch))]


def part(folder: Path, shard: str, **more: Any) -> Path:
    """A shard whose results came in another order than that of asking."""
    keys = keys_of(shard)
    head = header(shard, **{"trials": len(keys), **more})
    return write(folder / f"{shard[0]}.jsonl", head, *(result(*key) for key in reversed(keys)))


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return [part(tmp_path, f"{number}/3") for number in (1, 2, 3)]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(max_size=8), st.integers(0, 9)), max_size=6), st.integers(1, 12))
def test_every_trial_is_in_exactly_one_shard(keys: list[tuple[str, int]], of: int):
    shards = [Shard(number, of) for number in range(1, of + 1)]
    assert all(sum(shard.holds(key) for shard in shards) == 1 for key in keys)


def test_the_shards_of_a_trial_stay_what_they_are_and_are_about_equal():
    assert [shard_of((task, epoch), 8) for task in ("sum", "factorial") for epoch in (0, 1)] == [7, 2, 1, 8]
    counts = Counter(shard_of((f"t{n}", 0), 8) for n in range(4_000))
    assert sorted(counts) == list(range(1, 9))
    assert max(counts.values()) < 1.3 * min(counts.values())


def test_a_shard_is_written_as_one_of_so_many():
    assert (Shard.parse("3/8"), str(Shard.parse(" 8/8"))) == (Shard(3, 8), "8/8")
    for text in ("0/8", "9/8", "3", "3/0", "-1/8", "1/8/2", "a/b", "1/100001", ""):
        with pytest.raises(ConfigurationError, match=r"--shard is written 3/8"):
            Shard.parse(text)


def test_shards_merge_into_the_file_of_a_single_run(tmp_path: Path, parts: list[Path]):
    keys = [(task, epoch) for epoch in range(2) for task in TASKS]
    single = write(tmp_path / "single.jsonl", header(), *(result(*key) for key in keys))
    (done,) = merge(tmp_path / "all.jsonl", parts)
    assert (done.path, done.shards, done.trials, done.servers) == (tmp_path / "all.jsonl", 3, 16, ["http://one"])
    head, *lines = (tmp_path / "all.jsonl").read_bytes().splitlines()
    expected, *all_lines = single.read_bytes().splitlines()
    assert lines == all_lines
    assert {**json.loads(head), "id": 0, "ts": 0} == {**json.loads(expected), "id": 0, "ts": 0}
    assert done.path.stat().st_mode & 0o777 == 0o600
    merge(tmp_path / "again.jsonl", parts[::-1])
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    with ResultFile.resume(done.path) as file:
        assert (len(file.done), file.cost_usd, file.header.planned) == (16, 8.0, 16)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["1.jsonl", "2.jsonl", "3.jsonl", "again.jsonl", "all.jsonl", "single.jsonl"]
    )


def test_what_was_asked_again_keeps_its_lines_in_their_order(tmp_path: Path):
    keys = keys_of("1/1")
    again = [result("t3", failed=True), *(result(*key) for key in keys)]
    path = write(tmp_path / "1.jsonl", header("1/1", trials=len(keys)), *again)
    with path.open("ab") as file:
        file.write(b'{"kind":"result"}\n')  # of somebody else
        file.write(b'{"kind":"result","tas')  # a kill
    merge(tmp_path / "all.jsonl", [path])
    with ResultFile.resume(tmp_path / "all.jsonl") as file:
        assert (file.errors, len(file.done), file.cost_usd) == (set(), 16, 8.5)
    assert [one.key for one in read_results(tmp_path / "all.jsonl")[1]] == keys


def test_tasks_that_are_not_listed_stand_by_their_ids(tmp_path: Path):
    heads = [header(shard, tasks=[], drawn=8, trials=len(keys_of(shard))) for shard in ("1/2", "2/2")]
    paths = [
        write(tmp_path / f"{n}.jsonl", head, *(result(*key) for key in keys_of(head.shard or "")))
        for n, head in enumerate(heads)
    ]
    (done,) = merge(tmp_path / "all.jsonl", paths)
    merged, results = read_results(done.path)
    assert [one.key for one in results] == [(task, epoch) for epoch in range(2) for task in sorted(TASKS)]
    assert (merged.drawn, merged.planned, merged.trials) == (8, 16, None)
    short = write(tmp_path / "short.jsonl", heads[0], *(result(*key) for key in keys_of("1/2")[1:]))
    with pytest.raises(ConfigurationError, match=r"short\.jsonl has results of \d of the \d trials of shard 1/2: go"):
        merge(tmp_path / "none.jsonl", [short, paths[1]])


def test_shards_may_differ_in_what_only_their_machine_decides(tmp_path: Path):
    own = {"base_url": "http://two", "demos": "b.json"}
    paths = [part(tmp_path, "2/2", dataset="/data/t.yaml", settings=SETTINGS | own), part(tmp_path, "1/2")]
    (done,) = merge(tmp_path / "all.jsonl", paths)
    head, _ = read_results(done.path)
    assert (head.settings, head.dataset, done.servers) == (SETTINGS, "t.yaml", ["http://one", "http://two"])
    assert head.ts == min(read_results(path)[0].ts for path in paths)


def test_traces_that_lie_beside_a_part_are_named_where_they_lie_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names = ["1.traces/a.jsonl", "old/1.traces/b.jsonl", "/kept/c.jsonl", None]
    head = header("1/1", tasks=TASKS[:4], epochs=1, trials=4)
    write(Path("parts/1.jsonl"), head, *(result(task, trace=name) for task, name in zip(TASKS, names, strict=False)))
    merge(Path("before.jsonl"), [Path("parts/1.jsonl")])
    Path("parts/1.traces").mkdir()
    merge(Path("all.jsonl"), [Path("parts/1.jsonl")])
    before, after = ([one.trace for one in read_results(name)[1]] for name in ("before.jsonl", "all.jsonl"))
    assert before == names
    assert after == ["parts/1.traces/a.jsonl", "parts/1.traces/b.jsonl", "/kept/c.jsonl", None]
    monkeypatch.chdir("parts")
    merge(Path("here.jsonl"), [Path("1.jsonl")])
    assert next(one.trace for one in read_results("here.jsonl")[1]) == "1.traces/a.jsonl"


def test_with_faults_either_file_of_a_shard_stands_for_both(tmp_path: Path):
    for number in (1, 2):
        shard = f"{number}/2"
        path = part(tmp_path, shard)
        path.rename(tmp_path / f"{number}-faults.jsonl")
        lines = (tmp_path / f"{number}-faults.jsonl").read_text().splitlines(keepends=True)
        head = json.loads(lines[0])
        head["settings"]["faults"] = {"rate": 0.3, "seed": 1}
        (tmp_path / f"{number}-faults.jsonl").write_text(json.dumps(head) + "\n" + "".join(lines[1:]))
        part(tmp_path, shard)
    given = [tmp_path / name for name in ("1.jsonl", "2-faults.jsonl", "1-faults.jsonl")]
    plain, damaged = merge(tmp_path / "all.jsonl", given)
    assert (plain.path.name, damaged.path.name) == ("all.jsonl", "all-faults.jsonl")
    assert (plain.trials, damaged.trials) == (16, 16)
    assert read_results(damaged.path)[0].settings["faults"] == {"rate": 0.3, "seed": 1}
    damaged.path.rename(tmp_path / "more-faults.jsonl")
    with pytest.raises(ConfigurationError, match=r"more-faults\.jsonl is there already"):
        merge(tmp_path / "more.jsonl", given)
    (tmp_path / "2-faults.jsonl").unlink()
    with pytest.raises(ConfigurationError, match=r"shard 2/2 is missing beside .*1-faults\.jsonl"):
        merge(tmp_path / "other.jsonl", [tmp_path / "1.jsonl", tmp_path / "2.jsonl"])


def changed(**more: Any) -> Callable[[Path], list[Path]]:
    """The second of three shards made with something else."""
    return lambda folder: [part(folder, "1/3"), part(folder, "2/3", **more), part(folder, "3/3")]


def with_line(folder: Path, one: Result) -> list[Path]:
    paths = [part(folder, f"{number}/2") for number in (1, 2)]
    with ResultFile.resume(paths[0]) as file:
        file.append(one)
    return paths


def others(folder: Path) -> list[Path]:
    (folder / "b").mkdir()
    return [part(folder, "1/2"), part(folder, "2/2"), part(folder / "b", "1/2")]


def short(folder: Path) -> list[Path]:
    path, keys = folder / "1.jsonl", keys_of("1/2")
    return [write(path, header("1/2", trials=len(keys)), *(result(*key) for key in keys[1:])), part(folder, "2/2")]


def link(folder: Path) -> list[Path]:
    one = part(folder, "1/1")
    os.symlink(one, folder / "other.jsonl")
    return [one, folder / "other.jsonl"]


def empty(folder: Path) -> list[Path]:
    (folder / "empty.jsonl").touch()
    return [folder / "empty.jsonl"]


SECOND = keys_of("2/2")[0][0]
REFUSED: dict[str, tuple[Callable[[Path], list[Path]], str]] = {
    "missing": (lambda folder: [part(folder, "1/3"), part(folder, "3/3")], r"shard 2/3 is missing beside .*1\.jsonl"),
    "two missing": (lambda folder: [part(folder, "3/3")], "the shards 1/3, 2/3 are missing beside"),
    "many missing": (lambda folder: [part(folder, "3/19")], "1/19, .* 11/19 and 8 more are missing"),
    "given twice": (lambda folder: [part(folder, "1/1")] * 2, r"1\.jsonl is given twice: leave one out"),
    "linked": (link, r"other\.jsonl is given twice: leave one out"),
    "copied": (others, r"1\.jsonl and .*b/1\.jsonl are both shard 1/2: leave one out"),
    "no shard": (lambda folder: [write(folder / "x.jsonl", header())], r"x\.jsonl is no part of an eval: .*--shard"),
    "no count": (lambda folder: [write(folder / "x.jsonl", header("1/1"))], "does not say how many trials its shard"),
    "tasks": (changed(tasks=TASKS[::-1]), r"2\.jsonl is part of another eval than .*1\.jsonl: tasks; leave it out"),
    "dataset": (changed(dataset_sha256="1" * 64), "another eval .*: dataset_sha256 .'1111"),
    "seed": (changed(seed=4), r"2\.jsonl is part of another eval than .*: seed .4, there 0.; leave it out, or run"),
    "model": (changed(settings=SETTINGS | {"model": "n"}), "settings.model .'n', there 'm'."),
    "digests": (changed(settings=SETTINGS | {"digests": {"tools": "z"}}), "settings.digests.tools .* and 1 more"),
    "version": (changed(settings=SETTINGS | {"version": "9"}), "settings.version .'9', there None."),
    "other split": (lambda folder: [part(folder, "1/2"), part(folder, "2/3")], "shards .3, there 2."),
    "short": (short, r"1\.jsonl has results of \d of the \d trials of shard 1/2 .the first: t\d, epoch 0.: go on with"),
    "foreign line": (lambda folder: with_line(folder, result(SECOND)), r"1\.jsonl, line \d+: .* belongs to shard 2/2"),
    "other epoch": (lambda folder: with_line(folder, result("t3", 2)), "the trial t3, epoch 2, is none of those"),
    "other task": (lambda folder: with_line(folder, result("x")), "the trial x, epoch 0, is none of those"),
}  # fmt: skip


@each("name", REFUSED)
def test_what_is_no_whole_eval_is_refused_and_nothing_is_written(name: str, tmp_path: Path):
    make, told = REFUSED[name]
    folder = tmp_path / name
    folder.mkdir()
    paths = make(folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(ConfigurationError, match=told) as refused:
        merge(folder / "all.jsonl", paths)
    assert "\n" not in str(refused.value)
    assert sorted(folder.rglob("*")) == before


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path, parts: list[Path]):
    with pytest.raises(StorageError, match=r"cannot read the result file .*nothing\.jsonl"):
        merge(tmp_path / "all.jsonl", [tmp_path / "nothing.jsonl"])
    with pytest.raises(StorageError, match=r"empty\.jsonl is not a result file"):
        merge(tmp_path / "all.jsonl", empty(tmp_path))
    with pytest.raises(ConfigurationError, match=r"1\.jsonl is there already: choose another name"):
        merge(parts[0], parts[1:])


def test_more_parts_than_files_are_open_at_once(tmp_path: Path):
    tasks, paths = [f"t{n}" for n in range(80)], list[Path]()
    for number in range(1, 65):
        mine = [task for task in tasks if shard_of((task, 0), 64) == number]
        head = header(f"{number}/64", tasks=tasks, epochs=1, trials=len(mine))
        paths.append(write(tmp_path / f"{number}.jsonl", head, *map(result, mine)))
    (done,) = merge(tmp_path / "all.jsonl", paths)
    assert [one.task.id for one in read_results(done.path)[1]] == tasks
