"""Trace files and saved runs: whatever lies there, every whole record is read and every fault has a line."""

import json
import os
import stat
from pathlib import Path

import pytest

from micro_agent.errors import StorageError
from micro_agent.files.masking import Mask
from micro_agent.run import LMCall, Run, Step
from micro_agent.storage.records import append_record, read_records

RUN = Run(
    id="a" * 32,
    question="naïve\u2028line 🧮?",
    steps=[Step(tool="calculator", args={"expression": "1"}, observation={"result": 1}, call=0)],
    calls=[LMCall(reply={"text": "…"})],
    answer="1",
    status="completed",
)


def faults(path: Path) -> dict[int, str]:
    return {record.line_number: record.fault for record in read_records(path) if record.fault}


def test_a_record_is_one_line_with_the_keys_in_their_order(tmp_path: Path) -> None:
    append_record(tmp_path / "t", RUN, mask=Mask())
    (line,) = (tmp_path / "t").read_text().splitlines()
    assert list(json.loads(line))[:5] == ["id", "ts", "question", "steps", "answer"]
    assert [record.run for record in read_records(tmp_path / "t")] == [RUN]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.torture)])
def test_every_cut_of_a_trace_keeps_the_records_before_it(tmp_path: Path, step: int) -> None:
    path = tmp_path / "t"
    for answer in ("one", "two"):
        append_record(path, RUN.model_copy(update={"answer": answer}), mask=Mask())
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    edges = {end + more for end in (first, len(data) - 1) for more in (-2, -1, 0)}
    for end in sorted({*range(0, len(data), step), *edges}):
        path.write_bytes(data[:end])
        records = list(read_records(path))
        answers = [record.run.answer for record in records if record.run]
        assert answers == ["one", "two"][: (end >= first - 1) + (end == len(data) - 1)]
        torn = end not in (0, first - 1, first, len(data) - 1)
        assert ("cut off while it was written" in [record.fault for record in records]) == torn


def test_an_append_after_a_torn_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    append_record(path, RUN, mask=Mask())
    with path.open("ab") as file:
        file.write(b'{"id": "')
    append_record(path, RUN, mask=Mask())
    assert [record.run for record in read_records(path)] == [RUN, None, RUN]
    assert list(faults(path)) == [2]


def test_garbage_is_named_line_by_line(tmp_path: Path) -> None:
    good = json.dumps(RUN.model_dump()).encode()
    lines = [b"\xef\xbb\xbf" + good + b"\r", b"", b"garbage", b"[]", b"\xff\xfe", b'{"id": "x", "question": 1}', good]
    (tmp_path / "t").write_bytes(b"\n".join(lines) + b"\n")
    assert [record.line_number for record in read_records(tmp_path / "t") if record.run == RUN] == [1, 7]
    found = faults(tmp_path / "t")
    assert found[3].startswith("not readable: not JSON")
    assert found[4] == "not readable: a JSON list, not an object"
    assert "utf-8" in found[5]
    assert found[6].startswith("not a run: id: String should match pattern")
    assert all("\n" not in fault for fault in found.values())


def test_what_is_no_trace_file_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")
    assert faults(tmp_path / "empty") == {0: "no record in it: the file is empty"}
    assert faults(tmp_path / "fifo") == {0: "cannot be read: not a regular file"}
    assert faults(tmp_path) == {0: "cannot be read: not a regular file"}
    assert faults(tmp_path / "none") == {0: "cannot be read: No such file or directory"}


def test_a_record_of_a_newer_version_is_read_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    newer = {**RUN.model_dump(), "schema_version": 2, "mood": "good"}
    unreadable = {**newer, "steps": "a digest"}
    (tmp_path / "t").write_text(json.dumps(newer) + "\n" + json.dumps(unreadable) + "\n")
    first, second = read_records(tmp_path / "t")
    assert first.run is not None
    assert first.run.model_dump()["mood"] == "good"
    assert "newer version" in caplog.messages[0]
    assert second.fault is not None
    assert second.fault.endswith("(schema version 2, 1 is known: update micro-agent)")


def test_a_trace_that_cannot_be_opened_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(StorageError, match="it is a symbolic link, which is not followed: move it away"):
        append_record(tmp_path / "link", RUN, mask=Mask())
    assert not (tmp_path / "elsewhere").exists()


def test_a_saved_run_loads_again(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("something older")
    assert RUN.save(path) == path
    assert Run.load(path) == RUN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [record.run for record in read_records(path)] == [RUN]
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert Run.load(path) == RUN
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_saved_run_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_TOKEN", "sk-canary-0123456789")
    Run(question="sk-canary-0123456789").save(tmp_path / "run.json")
    assert "canary-" not in (tmp_path / "run.json").read_text()


def test_a_run_that_cannot_be_saved_leaves_what_was_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot save the run to .*: No such file"):
        RUN.save(tmp_path / "none" / "run.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"cannot save the run to .*: Is a directory"):
        RUN.save(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "nothing but blanks"), (b"{", "not JSON"), (b"{}\n{}\n", "not JSON"), (b"[]", "a JSON list"),
        (b'{"id": 5}', "not a run: id: "), (b"\xff", "not JSON"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_run_says_so(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(StorageError, match=f"run.json is not a saved run: {fault}"):
        Run.load(tmp_path / "run.json")


def test_a_run_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read the run .*: No such file"):
        Run.load(tmp_path / "none")
    with pytest.raises(StorageError, match="not a regular file"):
        Run.load(tmp_path)
