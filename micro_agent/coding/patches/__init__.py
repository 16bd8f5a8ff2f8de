"""Patches of an untrusted model: read with our own checks, repaired where one reading is left, applied whole or not."""

import os
from dataclasses import dataclass
from pathlib import Path

from micro_agent.coding.patches.changes import Plan
from micro_agent.coding.patches.faults import PatchError
from micro_agent.coding.patches.opinion import check_with_git
from micro_agent.coding.patches.planning import plan
from micro_agent.coding.patches.writing import alone, write
from micro_agent.coding.sandbox import Sandbox
from micro_agent.coding.workplace import state_of
from micro_agent.traces import default_state_dir

__all__ = ["Applied", "PatchError", "Plan", "apply", "check"]


@dataclass(frozen=True, slots=True)
class Applied:
    """What a diff did.

    Attributes:
        files: The files that it changed, from the root, in its order.
        repaired: What was wrong with it and was put right, each with its place.
    """

    files: tuple[str, ...]
    repaired: tuple[str, ...]


def check(root: str | Path, diff: str, *, sandbox: Sandbox | None = None) -> Plan:
    """Work out what a diff would do, and have git agree. Nothing is changed.

    Raises:
        PatchError: As of `apply`.
    """
    planned = plan(Path(root), diff)
    check_with_git(Path(root), planned.data, sandbox)
    return planned


def apply(
    root: str | Path, diff: str, *, sandbox: Sandbox | None = None, state: Path | None = None
) -> Applied:  # fmt: skip
    """Apply a unified diff to the files of a repository: all of it, or nothing.

    Args:
        root: The top of the repository.
        diff: The diff, as `git diff` prints it; errors that models make in it are repaired where one reading is left.
        sandbox: Where ``git apply --check`` runs; ``None`` runs it here, without any settings of a repository.
        state: The folder of the repository's state; by default that of ``MICRO_AGENT_STATE_DIR``.

    Raises:
        PatchError: It is refused, and nothing was changed: ``INVALID_DIFF`` for a diff that cannot be read or that asks
            for what a patch does not do (leave the repository, touch `.git` or credentials, make links), and
            ``PATCH_APPLY_FAILED`` for one that does not fit. The text says which hunk, what was expected and what the
            file has there.
    """
    top = Path(root).resolve()
    state = state_of(top, default_state_dir(os.environ)) if state is None else state
    with alone(top, state):
        planned = check(top, diff, sandbox=sandbox)
        write(top, planned.changes, state)
    return Applied(planned.files, planned.repaired)
