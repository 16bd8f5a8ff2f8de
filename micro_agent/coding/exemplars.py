"""What a coding agent is told of past runs in the same repository that were like its task and succeeded."""

from collections.abc import Callable
from pathlib import Path

from micro_agent.coding.coach import KIND
from micro_agent.coding.patches.store import Patches
from micro_agent.index import Exemplar, TraceIndex, told
from micro_agent.run import Run
from micro_agent.tools.error import ToolError
from micro_agent.traces import TraceStore

_SECONDS = 2.0


def exemplars_for(store: TraceStore, most: int = 3, *, seconds: float = _SECONDS) -> Callable[[Run], str | None]:
    """A function that gives the text about past runs for a run's question; ``None`` where there is none to show.

    New runs are taken into the index first, for so many ``seconds`` at most: what is left is taken in next time. Later
    turns of a chat are told nothing, since what was said before them is the example.
    """
    index, patches = TraceIndex(store), Patches(Path(), store.state_dir)

    def stands(exemplar: Exemplar) -> bool:
        return all(_is_applied(patches, patch_id) for patch_id in exemplar.patches)

    def given(run: Run) -> str | None:
        if run.follows is not None or most < 1:
            return None
        index.refresh(seconds, all_files=False)
        without = {run.id, run.parent or run.id}
        return told(index.exemplars(run.question, most, kind=KIND, without=without, usable=stands)) or None

    return given


def _is_applied(patches: Patches, patch_id: str) -> bool:
    """Whether a patch was not taken back. One of which nothing is known was not."""
    try:
        return patches.get(patch_id).status != "undone"
    except ToolError:
        return True
