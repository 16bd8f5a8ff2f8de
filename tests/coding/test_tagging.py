"""Edits by the tags of lines: what is written is what the tags name, and a stale tag writes nothing."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent
from micro_agent.coding import editing, files
from micro_agent.coding.finding import edit_lines
from micro_agent.coding.workplace import Workplace
from micro_agent.testing import Received, Reply, ScriptedLM, call, text
from micro_agent.tools.tool import Tool
from tests.coding.plain_sandbox import PlainSandbox
from tests.coding.repository import fails, make, run_git
from tests.each import each

TEXT = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    return 2\n"


def tools_on(root: Path, data: str | bytes) -> dict[str, Tool]:
    """The tools of a repository whose file ``a.py`` has these contents."""
    make(root, {"a.py": data}, commit=False)
    place = Workplace(root, root.parent / "state", PlainSandbox(root), edits="tagged")
    return {tool.name: tool for module in (files, editing) for tool in module.tools(place)}


def tags_of(tools: dict[str, Tool]) -> list[str]:
    """What stands in front of each line, as it is read."""
    return [line.partition("|")[0] for line in tools["read_file"].handler(path="a.py")["lines"]]


def test_lines_are_read_with_tags_that_stay_while_the_line_and_the_one_above_do(tmp_path: Path) -> None:
    tools = tools_on(tmp_path / "root", TEXT)
    read = tools["read_file"].handler(path="a.py")["lines"]
    assert [line.partition("|")[2] for line in read] == TEXT.splitlines()
    tags = tags_of(tools)
    assert [tag.partition(":")[0] for tag in tags] == [str(number) for number in range(1, 8)]
    assert "NUMBER:TAG|TEXT" in tools["read_file"].description
    snippet = tools["read_file_snippet"].handler(path="a.py", query="return x", context=0)
    assert snippet["lines"] == [read[2]]
    given = {"path": "a.py", "start_tag": tags[0], "insert": "before", "replacement": "import os"}
    tools["edit_file"].handler(**given)
    after = tags_of(tools)
    assert [tag.partition(":")[2] for tag in after[2:]] == [tag.partition(":")[2] for tag in tags[1:]]
    assert after[1].partition(":")[2] != tags[0].partition(":")[2]


def test_a_person_sees_the_diff_and_the_result_has_the_new_tags(tmp_path: Path) -> None:
    tools = tools_on(tmp_path / "root", TEXT)
    tool, tags = tools["edit_file"], tags_of(tools)
    assert tool.requires_confirmation is True
    assert tool.preview
    given = {"path": "a.py", "start_tag": tags[1], "end_tag": tags[2], "replacement": "    return 1\n"}
    shown = tool.preview(given)
    assert shown["text"].splitlines()[3:7] == ["@@ -1,6 +1,5 @@", " def f():", "-    x = 1", "-    return x"]
    assert (tmp_path / "root/a.py").read_text() == TEXT
    result = tool.handler(**given)
    read = tools["read_file"].handler(path="a.py")["lines"]
    assert result == {"ok": True, "path": "a.py", "start_line": 2, "end_line": 2, "lines": read[:3]}
    before = tools_on(tmp_path / "other", TEXT)
    (tmp_path / "other/a.diff").write_text(shown["text"])
    run_git(tmp_path / "other", "apply", "a.diff")
    assert tags_of(before) == tags_of(tools)


CASES: list[
    tuple[str, tuple[int, int | None, str | None, str], str]
] = [  # before, first and last line and where, replacement, after
    ("a\nb\nc\n", (2, None, None, "B\nBB\n"), "a\nB\nBB\nc\n"),
    ("a\nb\nc\n", (1, 2, None, "B"), "B\nc\n"),
    ("a\nb\nc\n", (1, 3, None, ""), ""),
    ("a\nb\nc\n", (2, 2, None, ""), "a\nc\n"),
    ("a\nb\nc\n", (1, None, "before", "x"), "x\na\nb\nc\n"),
    ("a\nb\nc\n", (3, 3, "after", "x\n\n"), "a\nb\nc\nx\n\n"),
    ("a\nb", (2, None, "after", "x\n"), "a\nb\nx"),
    ("a\nb", (2, None, None, "x\ny\n"), "a\nx\ny"),
    ("a\nb", (2, None, None, ""), "a\n"),
    ("a\r\nb\nc\r\n", (2, 3, None, "b\nx"), "a\r\nb\nx\r\n"),
    ("a\r\nb\r\n", (1, None, "after", "x\r\ny"), "a\r\nx\r\ny\r\nb\r\n"),
    ("\xe4\nb\n", (1, None, "after", "\xfc"), "\xe4\n\xfc\nb\n"),
    ("a\n\nb\n", (2, None, None, "\n\n"), "a\n\n\nb\n"),
]


@each(["before", "edit", "after"], CASES)
def test_whole_lines_are_replaced_deleted_and_inserted(
    before: str, edit: tuple[int, int | None, str | None, str], after: str
) -> None:
    first, last, insert, replacement = edit
    with TemporaryDirectory() as folder:
        tools = tools_on(Path(folder) / "root", before.encode("latin-1"))
        tags = tags_of(tools)
        given = {"path": "a.py", "start_tag": tags[first - 1], "replacement": replacement}
        given |= {"end_tag": tags[last - 1]} if last else {}
        given |= {"insert": insert} if insert else {}
        tools["edit_file"].handler(**given)
        assert (Path(folder) / "root/a.py").read_bytes() == after.encode("latin-1")


def test_anchors_and_replacements_may_be_whole_lines_as_they_were_read(tmp_path: Path) -> None:
    tools = tools_on(tmp_path / "root", TEXT)
    lines = tools["read_file"].handler(path="a.py")["lines"]
    result = tools["edit_file"].handler(
        path="a.py", start_tag=lines[1], end_tag=f" {lines[2]} ", replacement=f"{lines[1]}\n{lines[2]} + 1\n"
    )
    assert result["repaired"] == ["tags"]
    assert (tmp_path / "root/a.py").read_text() == TEXT.replace("return x", "return x + 1")


def test_a_stale_tag_changes_nothing_and_shows_the_lines_as_they_are(tmp_path: Path) -> None:
    tools = tools_on(tmp_path / "root", TEXT)
    tool, tags = tools["edit_file"], tags_of(tools)
    tool.handler(path="a.py", start_tag=tags[0], insert="before", replacement="import os\n\n\n")
    now = (tmp_path / "root/a.py").read_text()
    read = tools["read_file"].handler(path="a.py")["lines"]
    seen = fails(tool, "STALE_FILE", path="a.py", start_tag=tags[1], replacement="    x = 2\n")
    assert seen["lines"] == read[:5]
    assert seen["recovery_suggestion"]["tool_call"]["name"] == "read_file"
    beyond = fails(tool, "STALE_FILE", path="a.py", start_tag=read[0], end_tag="99:00", replacement="x")
    assert beyond["lines"] == read[-4:]
    assert fails(tool, "STALE_FILE", path="a.py", start_tag="0:00", replacement="x")["lines"] == read[:4]
    assert (tmp_path / "root/a.py").read_text() == now
    (tmp_path / "root/a.py").write_text(f"{now}# more\n")  # somebody else
    again = fails(tool, "STALE_FILE", path="a.py", start_tag=read[0], replacement="x")
    assert again["recovery_suggestion"]["tool_call"] == {"name": "read_file", "arguments": {"path": "a.py"}}


def test_what_names_no_lines_is_refused_with_a_hint(tmp_path: Path) -> None:
    tools = tools_on(tmp_path / "root", TEXT)
    tool, tags = tools["edit_file"], tags_of(tools)
    for anchor, lines in (("12", (2, 7)), ("a3", (1, 7)), ("def f():", (1, 7)), ("1:zz", (1, 6)), ("", (1, 7))):
        seen = fails(tool, "VALIDATION_FAILED", path="a.py", start_tag=anchor, replacement="x")
        hint = {"path": "a.py", "start_line": lines[0], "end_line": lines[1]}
        assert seen["recovery_suggestion"]["tool_call"] == {"name": "read_file", "arguments": hint}
    span = {"path": "a.py", "start_tag": tags[2], "end_tag": tags[1]}
    assert "recovery_suggestion" in fails(tool, "INVALID_LINE_RANGE", **span, replacement="x")
    fails(tool, "VALIDATION_FAILED", **span, replacement="x", insert="after")
    fails(tool, "VALIDATION_FAILED", path="a.py", start_tag=tags[2], replacement="", insert="after")
    fails(tool, "VALIDATION_FAILED", path="a.py", start_tag=tags[3], replacement="\n")
    fails(tool, "VALIDATION_FAILED", path="a.py", start_tag=tags[3], replacement="a\rb")
    assert (tmp_path / "root/a.py").read_text() == TEXT
    empty = tools_on(tmp_path / "empty", "")["edit_file"]
    assert fails(empty, "STALE_FILE", path="a.py", start_tag="1:00", replacement="x")["lines"] == []


class Editing:
    """A model that reads, names the line by the tag that it was shown, and once more by that tag."""

    def __init__(self) -> None:
        self.turn = 0

    def __call__(self, request: Received) -> Reply:
        """The next call."""
        self.turn += 1
        tag = re.search(r"2:[0-9a-f]{2}", str(request.messages))
        args = {"path": "a.py", "start_tag": tag[0] if tag else "", "replacement": f"    x = {self.turn}"}
        return [call("read_file", {"path": "a.py"}), call("edit_file", args), call("edit_file", args), text("Done.")][
            self.turn - 1
        ]


def test_a_model_edits_by_the_tags_that_it_was_shown(tmp_path: Path) -> None:
    tools = tools_on(tmp_path / "root", TEXT)
    agent = MicroAgent([*tools.values()], ScriptedLM(Editing()), "native", [], demos=[], confirm="all", finish="text")
    run = agent.ask("Give x another value.")
    read, edited, again = (step.observation for step in run.steps if step.is_tool)
    assert edited["lines"][0] == read["lines"][0]
    assert (edited["ok"], again["error"]) == (True, "STALE_FILE")
    assert again["lines"][1] == edited["lines"][1]
    assert (tmp_path / "root/a.py").read_text() == TEXT.replace("x = 1", "x = 2")


LINES = st.lists(st.sampled_from(["a", "b", " ", ""]), max_size=6)


@given(LINES, LINES, st.booleans(), st.data())
def test_the_lines_that_are_named_are_replaced_and_no_others(
    there: list[str], new: list[str], ends: bool, data: st.DataObject
) -> None:
    text = "\n".join(there) + "\n" * (ends and bool(there))
    lines = text.removesuffix("\n").split("\n") if text else []
    first = data.draw(st.integers(0, len(lines)))
    after = data.draw(st.integers(first, len(lines)))
    edit = edit_lines(text, first, after, new)
    changed = text[: edit.start] + edit.new + text[edit.end :]
    expected = [*lines[:first], *new, *lines[after:]]
    assert [line for line in changed.split("\n") if line.strip()] == [line for line in expected if line.strip()]
    if text.endswith("\n"):
        assert changed == "".join(f"{line}\n" for line in expected)
