"""The error that a tool raises to say with a code what went wrong."""

from typing import Any


class ToolError(Exception):
    """A failure that a tool names itself; the model gets the code, the message and the hint.

    Args:
        code: An upper-case code such as ``FILE_NOT_FOUND``; it becomes ``error`` of the observation.
        message: One line for the model: what is wrong and what to do instead.
        recovery: A hint for the next call, ``{"tool_call": {"name", "arguments"}, "rationale"}``.
    """

    def __init__(self, code: str, message: str, *, recovery: dict[str, Any] | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.recovery = recovery

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def observation(self) -> dict[str, Any]:
        """What the model sees: ``{"error", "message"}`` and, with a hint, ``"recovery_suggestion"``."""
        observed: dict[str, Any] = {"error": self.code, "message": self.message}
        if self.recovery is not None:
            observed["recovery_suggestion"] = self.recovery
        return observed
