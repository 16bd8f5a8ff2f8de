"""Evals: tasks with what is expected of them, asked, scored, counted and compared. Imports no DSPy."""

from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.datasets import Dataset, draw, load_tasks
from micro_agent.evaluation.figures import Comparison, Summary
from micro_agent.evaluation.from_traces import score_traces
from micro_agent.evaluation.rescore import rescore
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.rubrics import load_rubric
from micro_agent.evaluation.runner import agent_ask, run_trials
from micro_agent.evaluation.scorers import score
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trace_files import trace_files
from micro_agent.evaluation.trials import Trial, remaining, trials

__all__ = [
    "Comparison",
    "Dataset",
    "Header",
    "Result",
    "ResultFile",
    "Rubric",
    "Summary",
    "Task",
    "Trial",
    "agent_ask",
    "compare",
    "draw",
    "load_rubric",
    "load_tasks",
    "read_results",
    "remaining",
    "rescore",
    "run_trials",
    "score",
    "score_traces",
    "summarize",
    "trace_files",
    "trials",
]
