"""Scripts as JSON files, for a server that is started from a shell."""

import json
from pathlib import Path
from typing import Any

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.testing import Reply, call, calls, cut, decision, error, final, hang, malformed, text
from micro_agent.testing.script_file import read_script


@pytest.mark.parametrize(
    ("entry", "reply"),
    [
        ({"text": "3"}, text("3")),
        ({"text": "3", "reasoning": "1 + 2", "delay_s": 0.5}, text("3", reasoning="1 + 2", delay_s=0.5)),
        ({"text": "3", "usage": [7, 4], "model": "m"}, text("3", usage=(7, 4), model="m")),
        ({"text": "3", "usage": None, "finish_reason": "length"}, text("3", usage=None, finish_reason="length")),
        ({"call": {"name": "add", "args": {"a": 1}}}, call("add", {"a": 1})),
        ({"call": {"name": "add", "args": '{"a":', "id": "c1", "text": "x"}}, call("add", '{"a":', id="c1", text="x")),
        ({"call": {"name": "now"}}, call("now", {})),
        ({"calls": [{"name": "add", "args": {"a": 1}}, {"name": "now"}]}, calls(("add", {"a": 1}), ("now", {}))),
        ({"decision": {"name": "add", "args": {"a": 1}}}, decision("add", {"a": 1})),
        ({"final": "3"}, final("3")),
        ({"error": {"status": 429, "message": "slow", "retry_after": 1}}, error(429, "slow", retry_after=1)),
        ({"cut": {"after_bytes": 5}}, cut(5)),
        ({"malformed": True}, malformed()),
        ({"hang": 2}, hang(2)),
    ],
)
def test_every_kind_of_reply_can_be_written_down(tmp_path: Path, entry: dict[str, Any], reply: Reply):
    path = tmp_path / "script.json"
    path.write_text(json.dumps([entry, {"text": "x"}]))
    assert read_script(path) == [reply, text("x")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[{", "wrong at top: Invalid JSON"),
        ('{"text": "x"}', "wrong at top: Input should be a valid array"),
        ('[{"text": "x"}, {"call": {"nam": "add"}}]', r"wrong at 1\.call\.name: Field required"),
        ('[{"tex": "x"}]', r"0\.tex: Extra inputs"),
        ('[{"text": "x", "final": "x"}]', "reply 0 of .* exactly one of these keys: text call"),
        ('[{"delay_s": 1}]', "exactly one"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_says_where(tmp_path: Path, content: str, words: str):
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=words) as caught:
        read_script(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"cannot read the script .*none\.json: No such file"):
        read_script(tmp_path / "none.json")
