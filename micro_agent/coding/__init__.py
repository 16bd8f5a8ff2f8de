"""The coding toolset: files, search, patches, git, commands and tests of one repository, for an untrusted model.

What kind of work each tool does is said here, once; gates and prompts read it from here.
"""

from typing import Literal

Category = Literal["discovery", "search", "read", "change", "apply", "verify", "other"]
PromptSize = Literal["minimal", "detailed"]
"""Which of the two system prompts a model is given."""
EditFormat = Literal["edit", "patch", "udiff", "tagged"]
"""How a model changes files."""
GateMode = Literal["block", "warn", "off"]
"""What becomes of a finish before the gates pass."""
StateSummary = Literal["compact", "detailed", "off"]
"""How long the line behind each observation is."""

_EDIT, _REPLACE, _DIFF = "edit_file", "propose_patch", "propose_patch_unified"

CATEGORIES: dict[Category, tuple[str, ...]] = {
    "discovery": ("repo_info", "list_files", "git_status", "git_diff", "git_log"),
    "search": ("rg_search",),
    "read": ("read_file", "read_file_snippet"),
    "change": (_EDIT, _REPLACE, _DIFF),
    "apply": ("apply_patch",),
    "verify": ("run_tests", "run_cmd"),
    "other": ("show_patch", "git_push", "create_pr"),
}
"""The tools of each kind of work, in the order in which they are offered.

A tool of ``change`` whose result has a ``patch_id`` proposes, and ``apply`` writes what was approved; any other changes
the files itself.
"""

CHANGING: dict[EditFormat, tuple[str, ...]] = {
    "edit": (_EDIT, _REPLACE), "patch": (_REPLACE,), "udiff": (_DIFF,), "tagged": (_EDIT, _REPLACE),
}  # fmt: skip
"""Those of the tools for changing that are offered, by how a model changes files. Each has one that makes new files."""


def category_of(tool: str) -> Category | None:
    """The kind of work that a tool of the toolset does; ``None`` for any other tool."""
    return next((category for category, names in CATEGORIES.items() if tool in names), None)
