"""Which sandbox a repository gets: the strongest whose canary does not get out, or the one that was asked for."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from micro_agent.coding.sandbox.bwrap import Bwrap
from micro_agent.coding.sandbox.canary import check
from micro_agent.coding.sandbox.clone import Clone
from micro_agent.coding.sandbox.container import Container, has_image
from micro_agent.coding.sandbox.contract import Bounds, Kind, Sandbox, SandboxUnavailable, Stage
from micro_agent.coding.sandbox.landlock import Landlock

_STRONGEST_FIRST: tuple[Kind, ...] = ("bwrap", "container", "landlock")


def choose(
    wanted: Kind | Literal["auto"], root: Path, *, state: Path, masked: Sequence[Path] = ()
) -> Sandbox:  # fmt: skip
    """The sandbox of a repository, once its canary has shown that it holds.

    Each kind is tried once for each repository as long as the process lives.

    Args:
        wanted: The kind; ``auto`` takes the strongest that holds. Where none does it gives ``clone``, which says of
            itself that it does not enforce anything, and why in ``because``: the caller has to say so loudly.
        root: The repository, absolute and without links.
        state: The folder of its state, outside of the repository; closed to all programs.
        masked: More paths that are closed, such as the folder of all states.

    Raises:
        SandboxUnavailable: The kind that was asked for does not work here, or does not hold.
    """
    if wanted == "clone":
        return Clone(root, state)
    if wanted != "auto":
        found = _probed(wanted, root, state, tuple(masked))
        if isinstance(found, str):
            raise SandboxUnavailable(found)
        return found
    reasons: list[str] = []
    for kind in _STRONGEST_FIRST:
        if kind == "container" and not has_image(root):
            continue
        found = _probed(kind, root, state, tuple(masked))
        if not isinstance(found, str):
            return found
        reasons.append(found)
    return Clone(root, state, "; ".join(reasons))


@cache
def _probed(kind: Kind, root: Path, state: Path, masked: tuple[Path, ...]) -> Sandbox | str:
    """The sandbox of this kind, or what is wrong with it."""
    sandbox: Sandbox
    match kind:
        case "bwrap":
            sandbox = Bwrap(root, state, masked)
        case "container":
            sandbox = Container(root, state, masked)
        case _:
            sandbox = Landlock(root, state, masked)
    try:
        check(sandbox, root, state)
        return _with_view(sandbox) if isinstance(sandbox, Bwrap) else sandbox
    except SandboxUnavailable as error:
        return error.message
    except OSError as error:
        return f"{kind} cannot be tried: {error}"


def _with_view(sandbox: Bwrap) -> Bwrap:
    """The sandbox with views by overlayfs where the system makes them, else with copies."""
    try:
        made = sandbox.run([Stage(("true",))], "try", bounds=Bounds(timeout_s=30.0)).exit == 0
    except (SandboxUnavailable, OSError):
        made = False
    return sandbox if made else Bwrap(sandbox.root, sandbox.state, sandbox.masked, overlay=False)
