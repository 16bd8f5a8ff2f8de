"""What training keeps: read back after a kill, whatever the kill left of the last line."""

from pathlib import Path

import pytest

from micro_agent.errors import StorageError
from micro_agent.optimize.store import Kept


def test_what_was_kept_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "training.jsonl"
    with Kept(path) as kept:
        kept.put("one", run={"a": 1})
        kept.put("two", run={"a": 2})
        kept.put("one", run={"a": 3})
    path.write_bytes(path.read_bytes() + b'[]\n{"key": 5}\n{"key": "three", "ru')
    with Kept(path) as kept:
        assert [kept.get("one"), kept.get("two"), kept.get("three")] == [
            {"key": "one", "run": {"a": 3}}, {"key": "two", "run": {"a": 2}}, None,
        ]  # fmt: skip
        kept.put("three", run={})
    with Kept(path) as kept:
        assert kept.get("three") == {"key": "three", "run": {}}


def test_a_secret_comes_back_and_is_not_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "correct-horse-battery")
    path = tmp_path / "training.jsonl"
    with Kept(path) as kept:
        kept.put("one", said="correct-horse-battery")
    assert "correct-horse" not in path.read_text()
    with Kept(path) as kept:
        assert kept.get("one") == {"key": "one", "said": "correct-horse-battery"}


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot open"):
        Kept(tmp_path)
