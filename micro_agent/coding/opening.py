"""The paths of a model's calls: opened, or refused with a code and a hint."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

from micro_agent.coding.paths import FileTooLarge, PathForbidden, Place, beneath, resolve
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError


def opened(place: Workplace, path: str, mode: Literal["read", "write"]) -> Place:
    """The place of a file that is there; the caller closes it.

    Raises:
        ToolError: ``PATH_FORBIDDEN``, ``FILE_TOO_LARGE`` or ``FILE_NOT_FOUND``.
    """
    with _told():
        try:
            found = resolve(place.root, path, mode)
        except FileNotFoundError:
            raise not_found(path) from None
    if found.was is None:
        found.close()
        raise not_found(path)
    return found


def named(place: Workplace, path: str | None) -> str | None:
    """A path from the root that is not opened; ``None`` for none and for the root itself.

    Raises:
        ToolError: ``PATH_FORBIDDEN``.
    """
    with _told():
        return (beneath(place.root, path) or None) if path is not None else None


def not_found(path: str) -> ToolError:
    """The error for a file that is not there, with a search for its name."""
    name = re.sub(r"([*?[{\\])", "?", path.rstrip("/").rpartition("/")[2])
    hint = suggestion("list_files", {"glob": f"**/{name}*"}, "find where the file is")
    return ToolError("FILE_NOT_FOUND", f"there is no file {path!r:.200} in the repository", recovery=hint)


def suggestion(tool: str, arguments: dict[str, Any], why: str) -> dict[str, Any]:
    """A hint for the next call, as `ToolError` takes it."""
    return {"tool_call": {"name": tool, "arguments": arguments}, "rationale": why}


@contextmanager
def _told() -> Generator[None]:
    """Refusals become errors with a code."""
    try:
        yield
    except FileTooLarge as error:
        raise ToolError("FILE_TOO_LARGE", str(error)) from None
    except PathForbidden as error:
        raise ToolError("PATH_FORBIDDEN", str(error)) from None
