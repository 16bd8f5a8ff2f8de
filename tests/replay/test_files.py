"""One record of each trace that is named, or why there is none."""

from pathlib import Path

import pytest

from micro_agent import Run
from micro_agent.errors import ConfigurationError
from micro_agent.replay import recorded
from micro_agent.run import SCHEMA_VERSION
from micro_agent.traces import TraceStore


def test_a_folder_stands_for_its_traces_by_name_and_the_last_record_counts(store: TraceStore) -> None:
    runs = [Run(id=f"{number:032x}", question="?") for number in (2, 1)]
    for run in runs:
        for answer in ("one", "two"):
            store.append(run.model_copy(update={"answer": answer}))
    (store.directory / "README.md").write_text("no trace")
    found = list(recorded([store.directory, store.path(runs[0].id)]))
    assert [item.run and (item.run.id[-1], item.run.answer) for item in found] == [
        ("1", "two"), ("2", "two"), ("2", "two"),
    ]  # fmt: skip
    assert found[0].source == str(store.path(runs[1].id))
    assert [item.run and item.run.answer for item in recorded([store.directory], 0)] == ["one", "one"]


def test_what_gives_no_run_says_why(tmp_path: Path, store: TraceStore) -> None:
    path = store.append(Run(question="?", answer="kept"))
    with path.open("ab") as file:
        file.write(b'{"id": "torn')
    other = store.append(Run(question="?"))
    newer = store.append(Run(question="?", schema_version=SCHEMA_VERSION + 1))
    missing = tmp_path / "missing.jsonl"
    faults = [item.fault for item in recorded([path, missing, newer])]
    assert faults == [
        "line 2: cut off while it was written",
        "cannot be read: No such file or directory",
        f"schema version {SCHEMA_VERSION + 1}, {SCHEMA_VERSION} is known: update micro-agent",
    ]
    assert [item.run and item.run.answer for item in recorded([path], 0)] == ["kept"]
    assert [item.fault for item in recorded([other], 3)] == ["it has no record 3, only 1"]


def test_a_folder_without_traces_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no \*\.jsonl in the folder"):
        list(recorded([tmp_path]))
