"""An error whose call has one plain slip suggests the call that was meant; where more can be meant, a look."""

from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding.mending import meant
from micro_agent.coding.toolset import coding_toolset
from micro_agent.tools import Tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.execute import execute
from tests.coding.repositories import repository
from tests.each import each

FILE = "def add(a, b):\n    return a - b\n"
EDIT = {"path": "sums.py", "target": "return a - b", "replacement": "return a + b"}
PATCH = {"intent": "x", "file_path": "sums.py", "original_content": EDIT["target"], "new_content": EDIT["replacement"]}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    root = repository(tmp_path / "repo")
    (root / "sums.py").write_text(FILE)
    for folder in ("one", "two"):
        (root / folder).mkdir()
        (root / folder / "same.py").write_text("x = 1\n")
    return root


def suggested(tool: Tool, args: dict[str, Any]) -> Any:
    """The call that the error of a call suggests, by its preview where there is one."""
    try:
        tool.preview(args) if tool.preview is not None else tool.handler(**args)
    except ToolError as error:
        recovery = error.recovery
        assert recovery == execute(tool, args).observation.get("recovery_suggestion"), "the call itself says the same"
        return recovery and (recovery["tool_call"]["name"], recovery["tool_call"]["arguments"])
    raise AssertionError("there is no error")


CASES: list[tuple[str, dict[str, Any], tuple[str, dict[str, Any]] | str]] = [
    ("read_file", {"path": "src/sums.py", "start_line": 2}, ("read_file", {"path": "sums.py", "start_line": 2})),
    ("edit_file", {**EDIT, "path": "lib/sums.py"}, ("edit_file", EDIT)),
    ("propose_patch", {**PATCH, "file_path": "lib/sums.py"}, ("propose_patch", PATCH)),
    ("edit_file", {**EDIT, "target": "return a_value - b"}, ("edit_file", EDIT)),
    ("propose_patch", {**PATCH, "original_content": "return a - b_value"}, ("propose_patch", PATCH)),
    ("read_file", {"path": "same.py"}, "list_files"),
    ("read_file", {"path": "nowhere.py"}, "list_files"),
    ("edit_file", {**EDIT, "target": "give back b"}, "read_file"),
    ("edit_file", {**EDIT, "path": "lib/sums.py", "replacement": "x" * 2_000}, "list_files"),
    ("read_file_snippet", {"path": "sums.py", "query": "return a + b"}, "read_file"),
    ("read_file", {"path": "sums.py", "start_line": 90}, "read_file"),
    ("rg_search", {"pattern": "("}, "list_files"),
]


def test_the_call_that_was_meant_is_suggested(repo: Path):
    tools = coding_toolset(repo, sandbox="clone")
    for name, args, expected in CASES:
        found = suggested(tools[name], args)
        assert (found[0] if isinstance(expected, str) else found) == expected, (name, args)
    assert suggested(coding_toolset(repo, sandbox="clone", hints=False)["edit_file"], {**EDIT, "path": "a.py"}) is None


def test_a_patch_that_waits_is_the_one_to_apply(repo: Path):
    tools, unknown = coding_toolset(repo, sandbox="clone"), {"patch_id": "patch_1"}
    assert suggested(tools["apply_patch"], unknown) is None
    known = {"patch_id": execute(tools["propose_patch"], PATCH).observation["patch_id"]}
    assert suggested(tools["apply_patch"], unknown) == ("apply_patch", known)
    assert suggested(tools["show_patch"], unknown) == ("show_patch", known)
    another = coding_toolset(repo, sandbox="clone")["apply_patch"]
    assert suggested(another, unknown) == ("show_patch", known), "a patch of another run is not to be applied unseen"
    assert execute(tools["apply_patch"], known).ok
    assert suggested(tools["apply_patch"], unknown) == ("show_patch", known)


TEXT = (
    "import Account, Refused, transfer\n\n\nclass Cache:\n"
    "    def get(self, key):\n        if key not in self.entries:\n"
)
MEANT: list[tuple[str, str, str | None]] = [
    ("import Account, Refused, transfer_value", "import Account", "import Account, Refused, transfer"),
    ("        if key not in self_value.entries:\n", "x", "        if key not in self.entries:\n"),
    ("def got(self, key):\n        if key not in self.entries:", "x",
     "def get(self, key):\n        if key not in self.entries:"),
    ("if key not in self_value.entries:", "if key in self_value.entries:", None),
    ("while true: pass", "x", None),
    ("    def get(self, key):\n        return self.things.find(key, None, 3, 4, 5) or nothing.at_all()\n", "x", None),
    ("", "x", None),
    ("@", "x", None),
]  # fmt: skip


@each(["target", "new", "found"], MEANT)
def test_what_was_meant_stands_once_and_differs_by_little(target: str, new: str, found: str | None):
    assert meant(TEXT, target, new) == found
    assert found is None or meant(TEXT + TEXT, target, new) is None
