"""A run that asks before it goes on, in a conversation: its question in words, and what the next message says to it.

The words end with the run and the digest of its question, and the client sends them back as it sends back every
message. A word counts for this very question, and only where all of it stands in the message before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from micro_agent.files.masking import Mask
from micro_agent.replay import asked as lines_of
from micro_agent.storage.decisions import Choice
from micro_agent.text.printable import printable

_NAMED = re.compile(r"Run ([0-9a-f]{32}), question ([0-9a-f]{64})\.$")
_DECISION = re.compile(r"(approve)[.!]?|reject(?:[.!]?|:\s*(.*))", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile("`{3,}")


@dataclass(frozen=True, slots=True)
class Named:
    """A question that was shown: its run, its digest or the beginning of that, and how it was put."""

    run_id: str
    digest: str
    words: str | None = None
    """``None``: the client names the response that asked, and need not send its words back."""

    def is_about(self, question: Mapping[str, Any], mask: Mask) -> bool:
        """Whether this is the question."""
        if not question["sha256"].startswith(self.digest):
            return False
        return self.words is None or _even(self.words).endswith(_even(in_words(question, mask)))


def in_words(question: Mapping[str, Any], mask: Mask) -> str:
    """The question in full, in Markdown, secrets masked, and how to answer it."""
    lines = [printable(mask.text(line)) for line in lines_of(question)]
    fence = "`" * max([2, *(len(found) for line in lines for found in _FENCE.findall(line))]) + "`"
    until = f" It can be decided until {question['expires']}." if question.get("expires") else ""
    return "\n".join([
        "The agent asks before it goes on:", "", f"{fence}text", *lines, fence, "",
        f"Reply `approve`, or `reject: ` and why.{until}", "",
        f"Run {question['run']}, question {question['sha256']}.",
    ])  # fmt: skip


def named_in(text: str) -> Named | None:
    """The question that a message of the assistant ends with."""
    found = _NAMED.search(text.rstrip())
    return Named(found[1], found[2], text) if found else None


def decision_in(text: str) -> tuple[Choice, str | None] | None:
    """``approve``, or ``reject`` with what is told to the model; ``None`` for anything else."""
    found = _DECISION.fullmatch(text.strip())
    if found is None:
        return None
    return ("approve", None) if found[1] else ("reject", (found[2] or "").strip() or None)


def _even(text: str) -> str:
    return " ".join(text.split())
