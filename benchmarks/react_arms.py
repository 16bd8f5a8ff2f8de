# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Asks a task of `dspy.ReAct` or `dspy.ReActV2` and writes down what happened as a run of ours, to be scored alike.

Both get what micro-agent gets: the same `dspy.LM` around the same engine, the same tools, the same number of steps.
Prompts, adapter, parsing and retries are DSPy's own.
"""

import logging
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import dspy

from micro_agent import Run, Step, Tool
from micro_agent.cancel import Cancel
from micro_agent.evaluation.runner import Ask
from micro_agent.evaluation.trials import Trial
from micro_agent.models.failures import failure_of
from micro_agent.models.identity import provider_of
from micro_agent.run import LMCall
from micro_agent.run.usage import add_call, add_step

RETRIES = 3
"""Of a request that failed: `dspy.LM`'s own default, which our engines leave to our loop."""


def asking(
    kind: Callable[..., Any],
    lm_for: Callable[[int | None], Any],
    tools: Iterable[Tool],
    max_steps: int,
    *,
    native: bool,
) -> Ask:
    """What asks trials of ``kind``.

    Args:
        kind: `dspy.ReAct` or `dspy.ReActV2`.
        lm_for: The model for a sampling seed.
        tools: As micro-agent has them.
        max_steps: ``max_iters``.
        native: With native function calling, which DSPy's default adapter leaves out.
    """
    logging.getLogger("dspy").setLevel(logging.ERROR)  # a traceback for every reply that it cannot parse
    offered = list(tools)
    adapter = dspy.ChatAdapter(use_native_function_calling=True) if native else None

    def ask(trial: Trial, cancel: Cancel) -> Run:
        lm = lm_for(trial.seed).copy(num_retries=RETRIES)
        run = Run(question=trial.task.question, provider=provider_of(lm), model=lm.model)
        agent = kind("question -> answer", tools=[_recorded(tool, run) for tool in offered], max_iters=max_steps)
        begun = perf_counter()
        try:
            with dspy.context(lm=lm, adapter=adapter, disable_history=False, max_history_size=100_000):
                said = agent(question=trial.task.question)
            run.answer = run.model_answer = str(said.answer)
            run.status, run.termination_reason = "completed", "final"
        except dspy.LMError as error:
            failure = failure_of(error)
            run.status, run.termination_reason = "failed", failure.reason
            run.error = {"code": failure.code, "message": failure.message}
        except Exception as error:  # noqa: BLE001 - whatever the agent raises is how its run ended
            run.status, run.termination_reason = "stopped", type(error).__name__
            run.error = {"code": type(error).__name__, "message": " ".join(str(error).split())[:500]}
        _count(run, lm.history, perf_counter() - begun)
        return run

    return ask


def _recorded(tool: Tool, run: Run) -> Any:
    """The tool for DSPy; each call of it becomes a step of ``run``."""

    def called(**args: Any) -> Any:
        step = Step(tool=tool.name, args=args)
        run.steps.append(step)
        try:
            step.observation = tool(**args)
        except Exception as error:
            step.ok, step.error = False, str(getattr(error, "code", None) or "TOOL_EXCEPTION")
            step.observation = {"error": step.error, "message": str(error)}
            raise
        return step.observation

    return dspy.Tool(called, name=tool.name, desc=tool.description, args=dict(tool.parameters.get("properties") or {}))


def _count(run: Run, history: list[dict[str, Any]], seconds: float) -> None:
    for entry in history:
        usage = entry.get("usage") or {}
        call = LMCall(
            reply={}, model=entry.get("response_model"), input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"), cost_usd=entry.get("cost"),
        )  # fmt: skip
        run.calls.append(call)
        add_call(run.usage, call)
    for step in run.steps:
        add_step(run.usage, step)
    run.usage.latency_s = seconds
