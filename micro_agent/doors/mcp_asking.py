"""Putting a question to the person behind an MCP client: as the form of the protocol that it speaks has it."""

from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from micro_agent.effects import Approval

_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Run it", "description": "Whether this call may run, as shown."},
        "feedback": {"type": "string", "title": "Why not", "description": "What the model is told if not."},
    },
    "required": ["approve"],
}
_KEY = "approval"


class AskedFirst(Exception):
    """The client has to ask the person, and to send its request again with what they say: ``result`` tells it so."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("the client asks the person first")
        self.result = result


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever sits before the client, if it lets us ask them."""

    context: ServerRequestContext[Any]
    params: types.CallToolRequestParams

    async def word(self, state: str, shown: str) -> Approval | None:
        """The word on what is shown; ``None``: nobody can be asked.

        ``state`` names the question: an answer that the client brings to another one is none to this.

        Raises:
            AskedFirst: The client speaks the form of the protocol where it brings the answer with a second request.
        """
        session = self.context.session
        brought = (self.params.input_responses or {}).get(_KEY)
        if isinstance(brought, types.ElicitResult) and self.params.request_state == state:
            return _said(brought)
        known = session.client_capabilities
        if known is None or known.elicitation is None:
            return None
        if self.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            request = types.ElicitRequest(params=types.ElicitRequestFormParams(message=shown, requested_schema=_FORM))
            raise AskedFirst(types.InputRequiredResult(input_requests={_KEY: request}, request_state=state))
        try:
            return _said(await session.elicit_form(shown, _FORM, self.context.request_id))
        except MCPError:  # it says that it can ask, and does not
            return None


def _said(result: types.ElicitResult) -> Approval:
    """What a person's answer means. Who closes the form has given no word: the question stays open."""
    given = result.content or {}
    if result.action == "accept" and given.get("approve") is True:
        return Approval("approve")
    if result.action == "cancel":
        return Approval("pause")
    feedback = given.get("feedback")
    return Approval("reject", feedback if isinstance(feedback, str) else None)
