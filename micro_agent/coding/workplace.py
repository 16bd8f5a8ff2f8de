"""What the tools of one repository share: its root, the folder of its state, the sandbox, what the model has read."""

import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from micro_agent.coding.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Workplace:
    """One repository that a model works on.

    Attributes:
        root: The top of the repository, absolute and without links.
        state: The folder with its journals, approvals, patches and traces: outside the repository, closed to the model.
        sandbox: What commands run in.
        read: The sha256 of each file as the model read it last, by its path from the root: a change to a file that is
            another by then is ``STALE_FILE``.
    """

    root: Path
    state: Path
    sandbox: Sandbox
    read: dict[str, str] = field(default_factory=dict[str, str])


def state_of(root: Path, state_dir: Path) -> Path:
    """Where the state of a repository lies, below the folder of all state (``MICRO_AGENT_STATE_DIR``)."""
    return state_dir / "repos" / sha256(os.fsencode(root)).hexdigest()[:32]
