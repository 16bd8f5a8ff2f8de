"""Which run a conversation is at, and which question a response asked, for as long as the server lives.

Clients send back what was said, not who said it. A conversation that is known follows its last run, with all that the
tools returned; any other one begins with its messages.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from micro_agent.server.openai.asked import key_of

KEPT = 4096
"""So many are known; the oldest are forgotten."""


class Threads:
    """What is known of the conversations of one server. Belongs to its event loop."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._runs = OrderedDict[str, str]()
        self._questions = OrderedDict[str, str]()

    def answered(self, messages: Sequence[Mapping[str, Any]], run_id: str) -> None:
        """These messages end with the answer of this run."""
        self._keep(self._runs, _digest(messages), run_id)

    def run_at(self, messages: Sequence[Mapping[str, Any]]) -> str | None:
        """The run whose answer is the last of these messages."""
        return self._runs.get(_digest(messages))

    def asked(self, response_id: str, digest: str) -> None:
        """This response ended with the question of this digest."""
        self._keep(self._questions, response_id, digest)

    def question_of(self, response_id: str) -> str | None:
        """The digest of the question that this response ended with."""
        return self._questions.get(response_id)

    def _keep(self, known: OrderedDict[str, str], key: str, value: str) -> None:
        known[key] = value
        known.move_to_end(key)
        if len(known) > self._kept:
            known.popitem(last=False)


def _digest(messages: Sequence[Mapping[str, Any]]) -> str:
    return sha256(key_of(messages).encode(errors="backslashreplace")).hexdigest()
