"""What the tools of one repository share: its root, the folder of its state, the sandbox, what the model has read.

Nothing that the model can write decides anything: state, traces and all that is configured lie outside the repository.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from micro_agent.coding import EditFormat
from micro_agent.coding.sandbox import Kind, Sandbox, SandboxUnavailable
from micro_agent.errors import ConfigurationError
from micro_agent.files.jsonl import private_folder
from micro_agent.files.outside import is_inside, refuse_inside
from micro_agent.models.announcing import once
from micro_agent.traces import TraceStore, default_state_dir

Wanted = Literal["auto"] | Kind
"""Which sandbox is asked for; ``auto``: the strongest that holds what it promises on this machine."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """One repository that a model works on.

    Attributes:
        root: The top of the repository, absolute and without links.
        state: The folder with its journals, approvals, patches and traces: outside the repository, closed to the model.
        sandbox: What commands run in.
        read: The sha256 of each file as the model read it last, by its path from the root: a change to a file that is
            another by then is ``STALE_FILE``.
        edits: How the model changes files. With ``tagged``, lines that it reads have a tag, and edits name lines by it.
    """

    root: Path
    state: Path
    sandbox: Sandbox
    read: dict[str, str] = field(default_factory=dict[str, str])
    edits: EditFormat = "edit"


def root_of(repo: str | Path) -> Path:
    """The top of the git work tree that a folder is in, the folder itself where it is in none; without links.

    Git is not asked, since a repository can name programs that git runs.

    Raises:
        ConfigurationError: It is no folder.
    """
    folder = Path(os.path.realpath(repo))
    if not folder.is_dir():
        told = "is not a folder" if folder.exists() else "is not there"
        raise ConfigurationError(f"the repository {str(repo)!r} {told}: name the folder of one")
    return next((place for place in (folder, *folder.parents) if _is_top(place / ".git")), folder)


def _is_top(git: Path) -> bool:
    """Whether it is what the top of a work tree has: a folder of git's, or the file that names one."""
    return git.is_file() or (git / "HEAD").is_file()


def state_of(root: Path, state_dir: Path) -> Path:
    """Where the state of a repository lies, below the folder of all state (``MICRO_AGENT_STATE_DIR``).

    Raises:
        ConfigurationError: That is inside the repository, or the other way round.
    """
    refuse_inside(root, state_dir, "MICRO_AGENT_STATE_DIR")
    if is_inside(state_dir, root):
        raise ConfigurationError(f"the repository {root} is inside MICRO_AGENT_STATE_DIR, which is closed to the model")
    return state_dir.resolve() / "repos" / sha256(os.fsencode(root)).hexdigest()[:32]


def store_of(repo: str | Path, *, state_dir: Path | None = None, traces_dir: Path | None = None) -> TraceStore:
    """The runs on record of a repository: in `state_of` it, with the traces in its folder ``traces``.

    Args:
        repo: A folder in the repository.
        state_dir: The folder of all state; default ``MICRO_AGENT_STATE_DIR``.
        traces_dir: Another folder for the traces.

    Raises:
        ConfigurationError: One of the folders is inside the repository, or there is no repository.
    """
    root = root_of(repo)
    state = state_of(root, state_dir or default_state_dir(os.environ))
    if traces_dir is not None:
        refuse_inside(root, traces_dir, "the folder of traces (--traces-dir, TRACES_DIR)")
        traces_dir = traces_dir.resolve()  # on the way to it, links of the repository could be put in later
    return TraceStore(traces_dir or state / "traces", state_dir=state)


def open_workplace(
    repo: str | Path, *, state_dir: Path | None = None, sandbox: Wanted = "auto", masked: Sequence[Path] = ()
) -> Workplace:
    """The workplace of a repository; it is said once on standard error if nothing holds the commands that run in it.

    Args:
        repo: A folder in the repository.
        state_dir: The folder of all state; default ``MICRO_AGENT_STATE_DIR``.
        sandbox: Which sandbox commands run in.
        masked: Files and folders that are closed to what runs, beside the state and credentials.

    Raises:
        ConfigurationError: There is no such repository, its state would be inside it, or the sandbox that was named
            does not hold what it promises here.
    """
    from micro_agent.coding.sandbox.choosing import choose

    root, state_dir = root_of(repo), state_dir or default_state_dir(os.environ)
    state = state_of(root, state_dir)
    private_folder(state)
    try:
        # The state of other repositories is as closed as that of this one.
        chosen = choose(sandbox, root, state=state, masked=[state.parents[1], *masked])
    except SandboxUnavailable as error:
        raise ConfigurationError(f"the sandbox {sandbox} cannot be used here: {error.message}") from error
    if not chosen.enforces:
        tried = f" ({because})" if (because := getattr(chosen, "because", "")) else ""
        once(f"NOTHING HOLDS what the model runs{tried}: only commands of the allow-list run unasked, with your rights")
    return Workplace(root, state, chosen)
