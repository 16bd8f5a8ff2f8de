"""A local-first agent library on DSPy for weak models.

The names below load when they are first used, so that importing the package (and ``micro-agent --help``) does not
import DSPy.
"""

from importlib import import_module
from logging import LogRecord, getLogger
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from micro_agent.agent import MicroAgent
    from micro_agent.coder import coding_agent
    from micro_agent.coding.gates import get_gate_status
    from micro_agent.models import configure_lm
    from micro_agent.plans import Plan, PlanState, PlanTask, run_plan
    from micro_agent.rules.limits import Limits
    from micro_agent.run import Run, Step
    from micro_agent.tools import Tool, tool

__all__ = [
    "Limits", "MicroAgent", "Plan", "PlanState", "PlanTask", "Run", "Step", "Tool", "coding_agent", "configure_lm",
    "get_gate_status", "run_plan", "tool",
]  # fmt: skip

__version__ = "0.1.0"

_HOME = {
    "Limits": "micro_agent.rules.limits",
    "MicroAgent": "micro_agent.agent",
    "Plan": "micro_agent.plans",
    "PlanState": "micro_agent.plans",
    "PlanTask": "micro_agent.plans",
    "Run": "micro_agent.run",
    "Step": "micro_agent.run",
    "Tool": "micro_agent.tools",
    "coding_agent": "micro_agent.coder",
    "configure_lm": "micro_agent.models",
    "get_gate_status": "micro_agent.coding.gates",
    "run_plan": "micro_agent.plans",
    "tool": "micro_agent.tools",
}


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'micro_agent' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)


def _masked(record: LogRecord) -> bool:
    """Keep secrets out of what the package logs, whoever takes it."""
    from micro_agent.files.masking import mask_of

    record.msg, record.args = mask_of().text(record.getMessage()), None
    return True


getLogger("micro_agent").addFilter(_masked)
