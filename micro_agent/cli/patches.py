"""`micro-agent patches`: what a model proposed for a repository, to be read and applied by a person."""

from collections.abc import Callable
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.coloured import print_diff
from micro_agent.cli.messages import print_json, print_text, say
from micro_agent.cli.options import Json
from micro_agent.cli.repository import Repo, runs_of

if TYPE_CHECKING:
    from micro_agent.coding.patches.store import Patch, Patches

app = typer.Typer(
    help="List, show and apply the patches proposed for a repository.", no_args_is_help=True, rich_markup_mode=None
)  # fmt: skip
PatchId = Annotated[str, typer.Argument(metavar="PATCH_ID", show_default=False, help="As `patches list` shows it.")]


def patches_of(repo: Path | None) -> "Patches":
    """The patches of the repository around a folder. Raises `ConfigurationError`."""
    from micro_agent.coding.patches.store import Patches
    from micro_agent.coding.workplace import root_of

    store = runs_of(repo or Path(), None)
    return Patches(root_of(repo or Path()), store.state_dir)


def told(act: "Callable[[], Patch]", done: str) -> None:
    """Do it and say what was done to which files; what a patch is refused for is one line, and the exit code 1."""
    from micro_agent.tools.error import ToolError

    try:
        patch = act()
    except ToolError as error:
        say(f"micro-agent: {error.message}")
        raise typer.Exit(1) from None
    print_text(f"{patch.id} is {done}: {', '.join(patch.files)}")


@app.command("list")
def list_patches(repo: Repo = None, as_json: Json = False) -> None:
    """List patches, latest first."""
    found, damaged = patches_of(repo).all()
    if as_json:
        print_json([_row(patch) for patch in found])
    else:
        for patch in found:
            files = shorten(" ".join(patch.files), 30, placeholder=" …")
            print_text(f"{patch.id}  {patch.status:8}  {files:30}  {shorten(patch.intent, 50, placeholder='…')}")
    for path in damaged:
        say(f"micro-agent: {path} cannot be read")
    if not found:
        say("No patch was proposed for this repository.")


@app.command()
def show(patch_id: PatchId, repo: Repo = None, as_json: Json = False) -> None:
    """Show a patch: what it is for, what became of it, its diff."""
    from micro_agent.tools.error import ToolError

    try:
        patch = patches_of(repo).get(patch_id)
    except ToolError as error:
        say(f"micro-agent: {error.message}")
        raise typer.Exit(1) from None
    if as_json:
        print_json({**_row(patch), "diff": patch.diff})
        return
    lines = [f"{patch.id}: {patch.intent}"]
    lines += [f"  {status} {time}" for status, time in patch.times.items()]
    lines += [f"  feedback: {patch.feedback}"] * bool(patch.feedback)
    lines += [f"  repaired: {repaired}" for repaired in patch.repaired]
    print_text("\n".join([*lines, ""]))
    print_diff(patch.diff)


@app.command()
def apply(patch_id: PatchId, repo: Repo = None) -> None:
    """Approve a patch and apply it to the files, all of it or nothing."""
    patches = patches_of(repo)

    def act() -> "Patch":
        patches.decide(patch_id, approved=True)
        return patches.apply(patch_id)

    told(act, "applied")


def _row(patch: "Patch") -> dict[str, object]:
    return {
        "id": patch.id, "status": patch.status, "intent": patch.intent, "files": patch.files,
        "repaired": patch.repaired, "feedback": patch.feedback, "times": patch.times,
    }  # fmt: skip
