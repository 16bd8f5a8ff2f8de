"""Files of JSON lines: what is written is valid JSON, what is read is never lost to a neighbour's damage."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent.errors import StorageError
from micro_agent.files.jsonl import append, encode, open_file, parse, read_lines
from micro_agent.run import Step

TEXT = st.text() | st.sampled_from(["\n", "a\u2028b", "\u2029\x85", "\x1b[0m", "\r\0"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)


# The first draw of any character builds hypothesis' tables, which a busy machine takes its time for.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(st.characters()), JSON))
def test_what_is_written_is_one_line_that_reads_back(data: dict[str, Any]) -> None:
    line = encode(data)
    assert len(line.decode().splitlines()) == 1
    assert line.endswith(b"\n")
    assert parse(line) == data


def test_numbers_that_json_does_not_have_become_words() -> None:
    step = Step(tool="t", observation=[math.nan, (math.inf, 1.5)], latency_s=-math.inf)
    data = json.loads(encode({"step": step}), parse_constant=pytest.fail)
    assert data["step"]["observation"] == ["NaN", ["Infinity", 1.5]]
    assert Step.model_validate(data["step"]).latency_s == -math.inf


def test_lone_surrogates_survive_beside_what_json_does_not_have() -> None:
    step = Step(tool="caf\udce9 é", args={"a": [1, (2.5, math.nan)]}, latency_s=math.inf)
    line = encode({"step": step, "as_read": "\udce9"})
    assert line.isascii()
    read = parse(line)
    assert (read["as_read"], Step.model_validate(read["step"]).tool) == ("\udce9", "caf\udce9 é")
    assert (read["step"]["args"], read["step"]["latency_s"]) == ({"a": [1, [2.5, "NaN"]]}, "Infinity")


def test_what_is_nested_deeper_than_pydantic_writes_is_written() -> None:
    assert parse(encode({"value": nested(500)})) == {"value": nested(500)}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [object(), nested, nested(100_000)], ids=["object", "function", "deep"])
def test_what_has_no_json_form_is_refused_in_words(value: Any) -> None:
    with pytest.raises(StorageError, match="cannot be written as JSON"):
        encode({"value": value})


def test_every_readable_line_is_read_and_every_other_is_named() -> None:
    lines = [
        b'\xef\xbb\xbf{"a": 1}\r\n', b"\n", b'{"a": "\xe2\x80\xa8"}\n', b"[1]\n", b'{"a": \xff}\n', b"{a}\n",
        b"\0\0\n", b"[" * 100_000 + b"\n", b'\0\0{"a": 2}\n', b'{"a": 3}',
    ]  # fmt: skip
    found = list(read_lines(lines))
    assert [line.data for line in found if line.data] == [{"a": 1}, {"a": "\u2028"}, {"a": 2}, {"a": 3}]
    faults = {line.number: line.fault for line in found if line.fault}
    assert list(faults) == [4, 5, 6, 7, 8]
    assert faults[4] == "not readable: a JSON list, not an object"
    assert faults[7] == "not readable: nothing but blanks and NUL bytes"
    assert faults[8] == "not readable: JSON that is nested too deeply"
    assert not any(line.torn for line in found)


@pytest.mark.parametrize("tail", [b'{"a": ', b"\0\0\0", b'{"a": "\xc3'])
def test_a_last_line_without_its_end_is_told_apart(tail: bytes) -> None:
    *_, last = read_lines([b'{"a": 1}\n', tail])
    assert (last.number, last.fault, last.torn) == (2, "cut off while it was written", True)


def test_a_line_goes_on_a_fresh_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"torn": ')
    descriptor = open_file(path, os.O_RDWR | os.O_APPEND)
    append(descriptor, b'{"a":1}\n', path)
    append(descriptor, b'{"a":2}\n', path)
    os.close(descriptor)
    assert path.read_bytes() == b'{"torn": \n{"a":1}\n{"a":2}\n'


def test_other_kinds_of_files_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for kind in (tmp_path / "fifo", tmp_path):
        with pytest.raises(OSError, match="not a regular file"):
            open_file(kind)


def test_programs_that_are_started_do_not_get_the_file() -> None:
    descriptor = open_file(Path(__file__))
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_a_symbolic_link_is_read_but_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    os.close(open_file(tmp_path / "link"))
    with pytest.raises(OSError, match="symbolic links"):
        open_file(tmp_path / "link", os.O_RDWR)
