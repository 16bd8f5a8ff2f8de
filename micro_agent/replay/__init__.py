"""Runs read back: shown, counted, driven through today's loop, gone on with, compared.

Showing and comparing import no DSPy; `verify` and `fork` do when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from micro_agent.replay.alignment import Difference, diff
from micro_agent.replay.files import Recorded, recorded
from micro_agent.replay.show import MARGIN, asked, describe, record_of, statistics, step_line, whole_call
from micro_agent.replay.verdict import Divergence, Verdict

if TYPE_CHECKING:
    from micro_agent.replay.branch import fork
    from micro_agent.replay.verification import verify

__all__ = [
    "MARGIN",
    "Difference",
    "Divergence",
    "Recorded",
    "Verdict",
    "asked",
    "describe",
    "diff",
    "fork",
    "record_of",
    "recorded",
    "statistics",
    "step_line",
    "verify",
    "whole_call",
]

_HOME = {"fork": "micro_agent.replay.branch", "verify": "micro_agent.replay.verification"}


def __getattr__(name: str) -> Any:
    """Import what needs DSPy when it is first used (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'micro_agent.replay' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
