"""The four tools of patches: a person decides what is proposed, and only what was approved is applied, once."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding import CATEGORIES
from micro_agent.coding.patches.store import Patches
from micro_agent.coding.patches.tools import tools
from micro_agent.coding.workplace import Workplace
from micro_agent.tools import Tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.execute import execute
from tests.coding.patching import CHANGE, CHANGED, LINES, Unenclosed, files_of, repository
from tests.each import each

DIFF = {"intent": "a digit", "unified_diff": CHANGE}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    root = repository(tmp_path)
    return Workplace(root, tmp_path / "state", Unenclosed(root))


@pytest.fixture
def made(place: Workplace) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools(place)}


def proposed(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    """What a person is shown, as the loop asks for it."""
    assert tool.requires_confirmation
    assert tool.preview is not None
    return tool.preview(args)


def approved(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    """The result of a proposal that a person agreed to."""
    assert proposed(tool, args) == proposed(tool, args)
    return execute(tool, args).observation


def rejected(tool: Tool, args: dict[str, Any], feedback: str | None) -> dict[str, Any]:
    proposed(tool, args)
    assert tool.rejected is not None
    return tool.rejected(args, feedback)


def test_the_tools_are_those_that_are_declared(made: dict[str, Tool]) -> None:
    declared = [name for names in CATEGORIES.values() for name in names if "patch" in name]
    assert sorted(made) == sorted(declared)
    assert [tool.name for tool in made.values() if tool.read_only] == ["show_patch"]
    assert max(len(tool.description) for tool in made.values()) < 200


def test_a_proposal_is_shown_approved_and_applied_once(made: dict[str, Tool], place: Workplace) -> None:
    tool = made["propose_patch_unified"]
    args = {**DIFF, "unified_diff": f"```diff\n{CHANGE}```\n"}
    shown = proposed(tool, args)
    assert shown.keys() == {"kind", "id", "text", "files", "repaired"}
    assert (shown["kind"], shown["files"], shown["repaired"]) == ("patch", ["f.txt"], ["fences"])
    assert "@@ -2,7 +2,7 @@\n" in shown["text"]
    waiting = made["show_patch"].handler(patch_id=shown["id"])
    assert (waiting["approved"], waiting["applied"], waiting["feedback"]) == (False, False, None)
    result = approved(tool, args)
    assert result == {
        "patch_id": shown["id"], "intent": "a digit", "files": ["f.txt"], "file_path": "f.txt",
        "diff_preview": shown["text"], "approved": True, "feedback": None, "repaired": ["fences"],
        "message": f"Approved. Call apply_patch with patch_id {shown['id']}.",
    }  # fmt: skip
    assert (place.root / "f.txt").read_text() == LINES
    place.read["f.txt"] = "what it was"
    applied = execute(made["apply_patch"], {"patch_id": shown["id"]})
    assert applied.ok
    assert applied.observation["files_changed"] == ["f.txt"]
    assert (place.root / "f.txt").read_text() == CHANGED
    assert place.read["f.txt"] == Patches(place.root, place.state).get(shown["id"]).changes[0].after
    assert made["show_patch"].handler(patch_id=shown["id"])["applied"]
    again = execute(made["apply_patch"], {"patch_id": shown["id"]}).observation
    assert (again["error"], "recovery_suggestion" in again) == ("PATCH_APPLY_FAILED", False)
    assert "applied already" in again["message"]


def test_without_approval_nothing_is_applied(made: dict[str, Tool], place: Workplace) -> None:
    shown = proposed(made["propose_patch_unified"], DIFF)
    refused = execute(made["apply_patch"], {"patch_id": shown["id"]})
    assert (refused.ok, refused.error) == (False, "APPROVAL_REQUIRED")
    assert refused.observation == {
        "error": "APPROVAL_REQUIRED", "blocked": {"approval_required": True}, "approval": {"kind": "patch"},
        "patch_id": shown["id"], "feedback": None,
        "message": f"{shown['id']} is not applied: a person has to approve it first; go on with something else",
    }  # fmt: skip
    assert (place.root / "f.txt").read_text() == LINES


def test_a_rejected_proposal_is_a_result_with_the_feedback(made: dict[str, Tool]) -> None:
    result = rejected(made["propose_patch_unified"], DIFF, "write it as a word")
    assert (result["approved"], result["feedback"]) == (False, "write it as a word")
    assert result["message"] == "Rejected: write it as a word Propose another patch, or none."
    refused = made["apply_patch"].handler(patch_id=result["patch_id"])
    assert (refused["error"], refused["feedback"]) == ("APPROVAL_REQUIRED", "write it as a word")
    assert proposed(made["propose_patch_unified"], DIFF)["id"] == result["patch_id"]
    assert made["show_patch"].handler(patch_id=result["patch_id"])["feedback"] is None
    assert rejected(made["propose_patch_unified"], DIFF, None)["message"].startswith("Rejected. ")


def test_a_bad_proposal_is_an_error_and_nobody_is_asked(made: dict[str, Tool], place: Workplace) -> None:
    args = {"intent": "a digit", "unified_diff": CHANGE.replace("-five", "-fünf")}
    with pytest.raises(ToolError) as raised:
        proposed(made["propose_patch_unified"], args)
    observed = raised.value.observation()
    assert observed["error"] == "PATCH_APPLY_FAILED"
    assert observed["recovery_suggestion"]["tool_call"]["name"] == "read_file"
    assert Patches(place.root, place.state).all() == ([], [])


def test_a_decision_of_another_process_counts_without_the_preview(made: dict[str, Tool], place: Workplace) -> None:
    proposed(made["propose_patch_unified"], DIFF)
    other = {tool.name: tool for tool in tools(place)}
    result = execute(other["propose_patch_unified"], DIFF).observation
    assert result["approved"]
    assert execute(other["apply_patch"], {"patch_id": result["patch_id"]}).ok


def test_a_patch_that_no_longer_fits_is_refused_with_what_to_look_at(made: dict[str, Tool], place: Workplace) -> None:
    result = approved(made["propose_patch_unified"], DIFF)
    (place.root / "f.txt").write_text(LINES.replace("four", "FOUR"))
    refused = execute(made["apply_patch"], {"patch_id": result["patch_id"]}).observation
    assert refused["error"] == "PATCH_APPLY_FAILED"
    assert refused["recovery_suggestion"]["tool_call"] == {
        "name": "show_patch", "arguments": {"patch_id": result["patch_id"]}
    }  # fmt: skip
    (place.root / "f.txt").write_text(LINES.replace("four", "four  "))
    refused = execute(made["apply_patch"], {"patch_id": result["patch_id"]}).observation
    assert "does not fit any more" in refused["message"]
    (place.root / "f.txt").write_text("nought\n" + LINES)
    assert execute(made["apply_patch"], {"patch_id": result["patch_id"]}).ok
    assert (place.root / "f.txt").read_text() == "nought\n" + CHANGED


def test_what_was_approved_is_what_is_applied(made: dict[str, Tool], place: Workplace) -> None:
    result = approved(made["propose_patch_unified"], DIFF)
    path = place.state / "patches" / f"{result['patch_id']}.json"
    path.write_text(path.read_text().replace("+5", "+6"))
    refused = execute(made["apply_patch"], {"patch_id": result["patch_id"]}).observation
    assert refused["error"] == "APPROVAL_REQUIRED"
    assert (place.root / "f.txt").read_text() == LINES


@each("patch_id", ["patch_0123456789", "patch_../../x", "x", "", "patch_0123456789\n"])
def test_an_unknown_patch_is_not_found(patch_id: str, made: dict[str, Tool]) -> None:
    for name in ("show_patch", "apply_patch"):
        assert execute(made[name], {"patch_id": patch_id}).error == "PATCH_NOT_FOUND"


def test_many_at_once_apply_it_once(made: dict[str, Tool], place: Workplace) -> None:
    patch_id = approved(made["propose_patch_unified"], DIFF)["patch_id"]
    patches = Patches(place.root, place.state)

    def applied(_: int) -> bool:
        try:
            return patches.apply(patch_id).status == "applied"
        except ToolError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(applied, range(8))) == [False] * 7 + [True]
    assert (place.root / "f.txt").read_text() == CHANGED


def test_a_long_diff_is_cut_where_the_model_sees_it(made: dict[str, Tool], place: Workplace) -> None:
    args = {"intent": "more", "file_path": "more.txt", "original_content": "", "new_content": "a line\n" * 900}
    result = approved(made["propose_patch"], args)
    assert len(result["diff_preview"]) <= 500
    shown = made["show_patch"].handler(patch_id=result["patch_id"])
    assert shown["truncated"]
    assert len(shown["diff"]) <= 3000
    assert execute(made["apply_patch"], {"patch_id": result["patch_id"]}).ok
    assert (place.root / "more.txt").read_text() == "a line\n" * 900


REPLACED = [
    ("a line", "five", "5", CHANGED),
    ("whole lines", "four\nfive\n", "4\n5\n", LINES.replace("four\nfive", "4\n5")),
    ("the newline of the new one is missing", "four\nfive\n", "4\n5", LINES.replace("four\nfive", "4\n5")),
    ("the newline of the old one is missing", "four\nfive", "4\n5\n", LINES.replace("four\nfive", "4\n5")),
    ("part of a line", "fiv", "FIV", LINES.replace("five", "FIVe")),
    ("nothing instead of lines", "five", "", LINES.replace("five\n", "")),
    ("all of it", LINES, "other\n", "other\n"),
    ("all of it without a newline", LINES.rstrip(), "other", "other\n"),
    ("lines added", "five\n", "five\n5.5\n", LINES.replace("five\n", "five\n5.5\n")),
    ("two places", "two\nthree\nfour\nfive\n", "2\nthree\nfour\n5\n", LINES.replace("two", "2").replace("five", "5")),
    ("trailing blanks", "four  \nfive\t", "4\n5", LINES.replace("four\nfive", "4\n5")),
    ("indented", "    four\n    five", "    4\n      5", LINES.replace("four\nfive", "4\n  5")),
    ("other line endings", "four\r\nfive\r\n", "4\r\n5\r\n", LINES.replace("four\nfive", "4\n5")),
    ("very much", LINES, "x\n" * 3000, "x\n" * 3000),
    ("the end", "ten\n", "ten\neleven\n", LINES + "eleven\n"),
    ("the end goes", "ten\n", "", LINES.removesuffix("ten\n")),
]


@each("row", REPLACED, ids=lambda row: row[0])
def test_a_part_of_a_file_is_replaced(row: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> None:
    _, original, new, expected = row
    folder = tmp_path_factory.mktemp("part")
    root = repository(folder)
    made = {tool.name: tool for tool in tools(Workplace(root, folder / "state", Unenclosed(root)))}
    args = {"intent": "x", "file_path": "./f.txt", "original_content": original, "new_content": new}
    result = approved(made["propose_patch"], args)
    assert result["file_path"] == "f.txt"
    assert execute(made["apply_patch"], {"patch_id": result["patch_id"]}).ok
    assert (root / "f.txt").read_text() == expected


NOT_REPLACED = [
    ("f.txt", "elf", "11", "NOT_FOUND_IN_FILE", "nor anything like it"),
    ("f.txt", "e", "E", "TARGET_AMBIGUOUS", "in lines 1, 3, 3, 5, 7, 7, 8, 9, 10"),
    ("twice.txt", "  same", "other", "TARGET_AMBIGUOUS", "in lines 1, 3"),
    ("twice.txt", "same \n", "other", "TARGET_AMBIGUOUS", "stands 2 times in 'twice.txt', in lines 1, 3"),
    ("f.txt", "five", "five", "INVALID_DIFF", "same as original_content"),
    ("f.txt", "", "five", "INVALID_DIFF", "part of it that is replaced"),
    ("g.txt", "five", "5", "FILE_NOT_FOUND", "leave original_content empty"),
    ("g.txt", "", "", "INVALID_DIFF", "give it a text"),
    ("../g.txt", "", "5", "PATH_FORBIDDEN", "leads out"),
    (".git/config", "[core]", "[x]", "PATH_FORBIDDEN", "git's own files"),
    ("data.bin", "x", "y", "INVALID_DIFF", "is not text"),
    ("wide.txt", "x", "y", "INVALID_DIFF", "is in utf-16-le, in which a patch changes nothing"),
    ("g.txt", "", "a\0b", "INVALID_DIFF", "would hold NUL"),
    ("f.txt", "five", "\ud800", "INVALID_DIFF", "half of a character"),
]  # fmt: skip


def test_what_cannot_be_replaced_says_why(tmp_path: Path) -> None:
    files = {"f.txt": LINES, "twice.txt": "  same\n\n  same\n", "data.bin": "x\0", "wide.txt": "x\n".encode("utf-16")}
    root = repository(tmp_path, files)
    made = {tool.name: tool for tool in tools(Workplace(root, tmp_path / "state", Unenclosed(root)))}
    before = files_of(root)
    for path, original, new, code, told in NOT_REPLACED:
        with pytest.raises(ToolError) as raised:
            proposed(made["propose_patch"], {
                "intent": "x", "file_path": path, "original_content": original, "new_content": new
            })  # fmt: skip
        assert raised.value.code == code, (path, original)
        assert told in raised.value.message
    assert files_of(root) == before


def test_a_new_file_and_an_empty_one_get_their_first_lines(made: dict[str, Tool], place: Workplace) -> None:
    (place.root / "empty.py").touch()
    for name, text in (("new/deep.py", "X = 1"), ("empty.py", "Y = 2\n")):
        args = {"intent": "x", "file_path": name, "original_content": "", "new_content": text}
        result = approved(made["propose_patch"], args)
        assert execute(made["apply_patch"], {"patch_id": result["patch_id"]}).ok
        assert (place.root / name).read_text() == text


def test_an_applied_patch_is_undone_unless_the_files_changed(made: dict[str, Tool], place: Workplace) -> None:
    (place.root / "old.sh").write_text("one\n")
    (place.root / "old.sh").chmod(0o755)
    before = files_of(place.root)
    (place.root / "own").mkdir()
    diff = (
        CHANGE
        + "--- /dev/null\n+++ b/own/deep/y.py\n@@ -0,0 +1 @@\n+Y = 1\n"
        + "--- /dev/null\n+++ b/new/x.py\n@@ -0,0 +1 @@\n+X = 1\n--- a/old.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    )
    patch_id = approved(made["propose_patch_unified"], {**DIFF, "unified_diff": diff})["patch_id"]
    place.read["old.sh"] = "what it was"
    assert execute(made["apply_patch"], {"patch_id": patch_id}).ok
    assert place.read == {}
    after = files_of(place.root)
    assert sorted(after) == ["f.txt", "new/x.py", "own/deep/y.py"]
    patches = Patches(place.root, place.state)
    (place.root / "new" / "x.py").write_text("X = 2\n")
    with pytest.raises(ToolError, match=r"new/x\.py has changed since"):
        patches.undo(patch_id)
    (place.root / "new" / "x.py").unlink()
    (place.root / "new" / "x.py").symlink_to("/etc/passwd")
    with pytest.raises(ToolError, match="nothing was undone"):
        patches.undo(patch_id)
    (place.root / "new" / "x.py").unlink()
    (place.root / "new" / "x.py").write_text("X = 1\n")
    (place.root / "new" / "mine.txt").write_text("")
    assert patches.undo(patch_id).status == "undone"
    assert files_of(place.root) == {**before, "new/mine.txt": (0o644, b"")}
    # Folders that the patch made have gone, unless something else is in them.
    assert sorted(path.name for path in place.root.iterdir() if path.is_dir()) == [".git", "new", "own"]
    assert list((place.root / "own").iterdir()) == []
    (place.root / "new" / "mine.txt").unlink()
    with pytest.raises(ToolError, match="is undone, not applied"):
        patches.undo(patch_id)
    assert execute(made["apply_patch"], {"patch_id": patch_id}).error == "APPROVAL_REQUIRED"
    assert approved(made["propose_patch_unified"], {**DIFF, "unified_diff": diff})["patch_id"] == patch_id
    assert execute(made["apply_patch"], {"patch_id": patch_id}).ok
    assert files_of(place.root) == after
    for blob in (place.state / "patches" / "blobs").iterdir():
        blob.unlink()
    with pytest.raises(ToolError, match="cannot be read"):
        patches.undo(patch_id)
    assert files_of(place.root) == after


def test_the_state_is_for_this_user_alone_and_damage_is_told(made: dict[str, Tool], place: Workplace) -> None:
    patch_id = approved(made["propose_patch_unified"], DIFF)["patch_id"]
    execute(made["apply_patch"], {"patch_id": patch_id})
    modes = {path.stat().st_mode & 0o777 for path in place.state.rglob("*") if path.is_file()}
    assert modes == {0o600}
    patches = Patches(place.root, place.state)
    assert [patch.id for patch in patches.all()[0]] == [patch_id]
    assert patches.decide(patch_id, approved=False).status == "applied"
    path = place.state / "patches" / f"{patch_id}.json"
    path.write_text("garbage")
    assert patches.all() == ([], [str(path)])
    with pytest.raises(ToolError, match="cannot be read"):
        patches.get(patch_id)
    assert os.listdir(place.state / "patches" / "blobs")
