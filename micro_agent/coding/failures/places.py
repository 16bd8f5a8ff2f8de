"""Where a failure came up: of the places in a traceback, the one in the project's own code."""

import re
from collections.abc import Sequence

Place = tuple[str, str]
"""The path of a file and the number of a line, as they were printed."""
_INSTALLED = re.compile(
    r"<|node:|internal/|/rustc/|(?:.*[/\\])?(?:(?:site|dist)-packages|node_modules|lib(?:64)?/python[\d.]+)[/\\]"
)
"""What comes with a language or was installed for it."""


def place_of(found: Sequence[Place], root: str) -> str | None:
    """The last of these places, from the outermost to where it failed, that is in the project.

    Where none is known to be in it, the last that was not installed; ``None`` where all were.
    """
    own = [place for place in found if not _INSTALLED.match(place[0])]
    inside = [place for place in own if _is_inside(place[0], root)]
    return ":".join((inside or own)[-1]) if own else None


def relative(place: str | None, root: str) -> str | None:
    """A place as seen from the root."""
    if place is None:
        return None
    return place.removeprefix(f"{root.rstrip('/')}/" if root else "").removeprefix("./")


def _is_inside(path: str, root: str) -> bool:
    return not path.startswith(("/", "..")) or bool(root and path.startswith(f"{root.rstrip('/')}/"))
