"""Plans: tasks that depend on one another, each a run of an agent; resumed after a kill at any point."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from micro_agent.plans.plan import Plan, PlanTask
from micro_agent.plans.state import PlanState

if TYPE_CHECKING:
    from micro_agent.plans.working import run_plan, state_path

__all__ = ["Plan", "PlanState", "PlanTask", "run_plan", "state_path"]


def __getattr__(name: str) -> Any:
    """What needs an agent, and so DSPy, is imported when it is first used (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'micro_agent.plans' has no attribute {name!r}")
    return getattr(import_module("micro_agent.plans.working"), name)
