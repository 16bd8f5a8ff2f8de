"""Why a patch is refused."""

from typing import Any

from micro_agent.coding.opening import listing, suggestion
from micro_agent.tools.error import ToolError


class PatchError(ToolError):
    """A patch is refused, and nothing was changed; the text names the file, the hunk, and what the file has there.

    Attributes:
        code: ``INVALID_DIFF`` for a diff that cannot be read or reaches for what is closed; ``PATCH_APPLY_FAILED`` for
            one that does not fit the files.
        is_final: Whether the diff is refused for what it asks, so that no other reading of it is tried.
    """

    def __init__(
        self, code: str, message: str, *, recovery: dict[str, Any] | None = None, is_final: bool = False
    ) -> None:  # fmt: skip
        super().__init__(code, message, recovery=recovery)
        self.is_final = is_final


def invalid(message: str) -> PatchError:
    """The diff itself is wrong; another reading of it may not be."""
    return PatchError("INVALID_DIFF", message)


def refused(message: str) -> PatchError:
    """The diff asks for what is not done, however it is read."""
    return PatchError("INVALID_DIFF", message, is_final=True)


def misfit(message: str, path: str | None = None, line: int = 1) -> PatchError:
    """The diff does not fit the files; the hint reads the file around ``line``."""
    arguments = {"path": path, "start_line": max(1, line - 10), "end_line": line + 20}
    hint = suggestion("read_file", arguments, "Read what the file has there, then write the diff from it.")
    return PatchError("PATCH_APPLY_FAILED", message, recovery=hint if path else None)


def missing(message: str, path: str) -> PatchError:
    """The diff is about a file that is not there; the hint looks for its name."""
    return PatchError("PATCH_APPLY_FAILED", message, recovery=listing(path))
