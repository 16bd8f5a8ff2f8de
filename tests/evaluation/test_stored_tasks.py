"""Tasks that stay in their file: the same tasks, draws and faults as of those in memory."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import (
    LargeDataset,
    Tasks,
    draw,
    have_repositories,
    ids_of,
    load_tasks,
    open_tasks,
)
from micro_agent.evaluation.trials import trials
from tests.each import each


def write(folder: Path | str, *tasks: dict[str, Any], blank: str = "") -> Path:
    path = Path(folder, "tasks.jsonl")
    lines = ({"question": "Why?", "expect_contains": "x", **task} for task in tasks)
    path.write_text("".join(json.dumps(line) + "\n" + blank for line in lines))
    return path


def stored(path: Path) -> Tasks:
    dataset = open_tasks(path, in_memory=0)
    assert isinstance(dataset, LargeDataset)
    return dataset.tasks


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "b.c"]), max_size=2, unique=True), min_size=1, max_size=12),
    st.none() | st.integers(0, 13),
    st.integers(0, 3),
    st.lists(st.sampled_from(["a", "b", "d"]), max_size=2),
    st.sampled_from(["", "\n"]),
)
def test_they_are_those_that_are_drawn_in_memory(
    tags: list[list[str]], n: int | None, seed: int, asked: list[str], blank: str
):
    with TemporaryDirectory() as folder:
        path = write(folder, *({"id": f"t{(7 * k) % 13}", "tags": of} for k, of in enumerate(tags)), blank=blank)
        assert open_tasks(path, in_memory=0).sha256 == load_tasks(path).sha256
        found = [_drawn(tasks, n, seed, asked) for tasks in (load_tasks(path).tasks, stored(path))]
    assert found[0] == found[1]


def _drawn(tasks: Tasks, n: int | None, seed: int, tags: list[str]) -> Any:
    try:
        sample = draw(tasks, n, seed, tags)
    except ConfigurationError as error:
        return str(error)
    return list(sample), len(sample), list(ids_of(sample)), list(draw(sample)), have_repositories(sample)


def test_they_are_read_again_for_each_epoch(tmp_path: Path):
    tasks = stored(write(tmp_path, {"id": "a", "repository": {"files": {"a.py": ""}}}, {"id": "b"}))
    assert [trial.key for trial in trials(tasks, 2, 0, seeded=False)] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert [have_repositories(draw(tasks, 1, seed)) for seed in range(12)].count(True) in range(1, 12)


FAULTY = ['{"id": "a"}', "nothing", '{"id": "a", "question": "Why?", "expect_contains": "x"}\n' * 2, "", "[]"]


@each("text", FAULTY)
def test_what_is_wrong_with_them_is_told_as_of_those_in_memory(text: str, tmp_path: Path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"\n{text}\n")
    with pytest.raises(ConfigurationError) as expected:
        load_tasks(path)
    with pytest.raises(ConfigurationError) as told:
        open_tasks(path, in_memory=0)
    assert str(told.value) == str(expected.value)


def test_small_files_and_others_are_read_whole(tmp_path: Path):
    path = write(tmp_path, {"id": "a"})
    assert open_tasks(path) == load_tasks(path)
    (tmp_path / "tasks.csv").write_text("question,expect_contains\nWhy?,x\n")
    assert open_tasks(tmp_path / "tasks.csv") == load_tasks(tmp_path / "tasks.csv")
    with pytest.raises(ConfigurationError, match=r"cannot read .*none\.jsonl"):
        open_tasks(tmp_path / "none.jsonl")


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path):
    path = write(tmp_path, {"id": "a"}, {"id": "b"})
    tasks = stored(path)
    one = next(iter(tasks))
    assert one.id == "a"
    os.utime(path, ns=(0, 0))
    with pytest.raises(
        ConfigurationError, match=r"tasks\.jsonl changed while its tasks were asked: put it back, and r"
    ):
        next(iter(tasks))
