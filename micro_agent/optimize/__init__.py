"""Optimize: few-shot demos or instructions for the planner, made by DSPy, kept only when they make it better."""

from micro_agent.optimize.arms import Bench, Bounds
from micro_agent.optimize.ending import NotFinished
from micro_agent.optimize.job import Job, Optimizer
from micro_agent.optimize.optimize import Outcome, optimize
from micro_agent.optimize.teller import Teller

__all__ = ["Bench", "Bounds", "Job", "NotFinished", "Optimizer", "Outcome", "Teller", "optimize"]
