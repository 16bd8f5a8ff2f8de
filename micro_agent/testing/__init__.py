"""Doubles of a model, to test tools and agents without one: `ModelServer` over HTTP, `ScriptedLM` in the process.

Both play a script: a list of replies, or a function from the request to the reply. `FaultyLM` damages the replies of
any model, scripted or real. Importing this does not import DSPy.
"""

from micro_agent.testing.faulty import FaultyLM
from micro_agent.testing.reply import (
    Reply,
    call,
    calls,
    cut,
    decision,
    error,
    final,
    hang,
    malformed,
    raw,
    text,
)
from micro_agent.testing.script import Received, Script
from micro_agent.testing.scripted_lm import ScriptedLM
from micro_agent.testing.server import ModelServer

__all__ = [
    "FaultyLM",
    "ModelServer",
    "Received",
    "Reply",
    "Script",
    "ScriptedLM",
    "call",
    "calls",
    "cut",
    "decision",
    "error",
    "final",
    "hang",
    "malformed",
    "raw",
    "text",
]
