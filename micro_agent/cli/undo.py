"""`micro-agent undo`: an applied patch is taken back."""

from micro_agent.cli.patches import PatchId, patches_of, told
from micro_agent.cli.repository import Repo


def undo(patch_id: PatchId, repo: Repo = None) -> None:
    """Put back what was there before a patch was applied."""
    patches = patches_of(repo)
    told(lambda: patches.undo(patch_id), "undone")
