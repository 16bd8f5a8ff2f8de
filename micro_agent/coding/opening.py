"""The paths of a model's calls: opened, or refused with a code and a hint."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

from micro_agent.coding.bounds import LINES
from micro_agent.coding.paths import FileTooLarge, PathForbidden, Place, beneath, resolve
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError


class ErrorWithMore(ToolError):
    """An error of which the model sees more than a message, such as the ``lines`` that it is about."""

    def __init__(self, code: str, message: str, *, recovery: dict[str, Any], **more: Any) -> None:
        super().__init__(code, message, recovery=recovery)
        self.more = more

    def observation(self) -> dict[str, Any]:
        """What the model sees."""
        return super().observation() | self.more


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
    return ToolError("FILE_NOT_FOUND", f"there is no file {path!r:.200} in the repository", recovery=listing(path))


def listing(path: str) -> dict[str, Any]:
    """The hint to look for a file by its name."""
    name = re.sub(r"([*?[{\\])", "?", path.rstrip("/").rpartition("/")[2])
    return suggestion("list_files", {"glob": f"**/{name}*"}, "find where the file is")


def suggestion(tool: str, arguments: dict[str, Any], why: str) -> dict[str, Any]:
    """A hint for the next call, as `ToolError` takes it."""
    return {"tool_call": {"name": tool, "arguments": arguments}, "rationale": why}


def reading(path: str, first: int, last: int, total: int) -> dict[str, Any]:
    """The hint to read around lines of a file that has ``total``."""
    start = max(1, first - 5)
    arguments = {"path": path, "start_line": start, "end_line": min(last + 5, start + LINES - 1, total)}
    return suggestion("read_file", arguments, "see what stands there, and copy it")


@contextmanager
def _told() -> Generator[None]:
    """Refusals become errors with a code."""
    try:
        yield
    except FileTooLarge as error:
        raise ToolError("FILE_TOO_LARGE", str(error)) from None
    except PathForbidden as error:
        raise ToolError("PATH_FORBIDDEN", str(error)) from None
