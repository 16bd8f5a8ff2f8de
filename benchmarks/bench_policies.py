# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What it buys and costs to ask a model several times: ways to run a tool loop, on the same tasks, side by side.

    python -m benchmarks.bench_policies --n 200 --temperature 0.8
    python -m benchmarks.bench_policies --base-url http://127.0.0.1:8080/v1 --model any --n 200 --out policies.json

Without a model it asks the tiny one, in this process. Each task is asked in all ways before the next one, with the same
sampling seed; who begins goes round. The first way is what the others are compared with (McNemar's exact test).
"""

import argparse
import json
import logging
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import dspy
from dspy.lm15 import Config, FunctionTool, Message, Request, TextPart, ToolResultPart

from benchmarks.policy_tasks import Attempt, drawn
from micro_agent import Limits, MicroAgent, __version__, configure_lm
from micro_agent.demos import instructions
from micro_agent.errors import MicroAgentError
from micro_agent.evaluation.statistics import mcnemar_exact
from micro_agent.models.settings import load_settings
from micro_agent.run.sampling import requests
from micro_agent.tools import Tool

MOST_DECISIONS = 6
_TASKS, _SEEDS = 10_000, 100
"""So many tasks have seeds of their own for each ``--seed``, and each so many, since further samples count up."""

Ask = Callable[[Attempt, Any], None]
"""Plays a task with a model, and notes what became of it."""


def bare(attempt: Attempt, lm: Any) -> None:
    """The usual loop by hand: native calls are made as they come, an error is told, text is the answer."""
    tools = {tool.name: tool for tool in attempt.tools()}
    offered = tuple(
        FunctionTool(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in tools.values()
    )
    messages = [Message.user(attempt.task.question)]
    config = Config(**{name: lm.kwargs[name] for name in ("temperature", "max_tokens", "seed")})
    for _ in range(MOST_DECISIONS):
        request = Request(model=lm.model, system=instructions(), messages=tuple(messages), tools=offered, config=config)
        response = lm(request)
        attempt.decisions += 1
        attempt.replies += 1
        attempt.requests += 1
        attempt.input_tokens = _plus(attempt.input_tokens, getattr(response.usage, "input_tokens", None))
        attempt.output_tokens = _plus(attempt.output_tokens, getattr(response.usage, "output_tokens", None))
        if not response.tool_calls:
            attempt.answer = response.text or ""
            return
        messages.append(response.message)
        for call in response.tool_calls:
            part = ToolResultPart(id=call.id, content=(TextPart(_made(tools, call)),), name=call.name)
            messages.append(Message(role="tool", parts=(part,)))


def _made(tools: dict[str, Tool], call: Any) -> str:
    """The result of a call, or its error in the form that micro-agent has: what is compared is not how it is said."""
    if call.name not in tools:
        return json.dumps({"error": "UNKNOWN_TOOL", "message": f"there is no tool {call.name!r}"})
    try:
        return json.dumps(tools[call.name].handler(**call.input))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
        return json.dumps({"error": getattr(error, "code", type(error).__name__), "message": str(error)})


def agent(samples: int | None = None, resamples: int | None = None) -> Ask:
    """micro-agent as a user makes it, with this sampling."""

    def ask(attempt: Attempt, lm: Any) -> None:
        made = MicroAgent(
            attempt.tools(), lm, limits=Limits(max_steps=MOST_DECISIONS), confirm="never", samples=samples,
            resamples=resamples, settings=load_settings(env_file=".env"),
        )  # fmt: skip
        run = made.ask(attempt.task.question)
        if run.termination_reason == "lm_error":
            raise MicroAgentError(str((run.error or {}).get("message")))
        attempt.answer = run.answer
        attempt.decisions, attempt.replies = len(run.calls), sum(1 for _ in requests(run))
        attempt.requests = run.usage.lm_calls
        attempt.input_tokens, attempt.output_tokens = run.usage.input_tokens, run.usage.output_tokens

    return ask


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to play a task. ``greedy``: at temperature 0."""

    ask: Ask
    about: str
    greedy: bool = False


POLICIES = {
    "bare": Policy(bare, "a loop by hand, errors told"),
    "bare-greedy": Policy(bare, "the same at temperature 0", greedy=True),
    "no-sampling": Policy(agent(samples=1, resamples=0), "micro-agent, SAMPLES=1 RESAMPLES=0"),
    "default": Policy(agent(), "micro-agent as the settings say"),
    "greedy": Policy(agent(), "the same at temperature 0", greedy=True),
    "samples-3": Policy(agent(samples=3), "micro-agent, --samples 3"),
    "samples-5": Policy(agent(samples=5), "micro-agent, --samples 5"),
}
_HEAD = (
    "policy", "right", "gained", "lost", "p", "silent wrong", "wrong effects", "decisions", "replies per decision",
    "requests", "tokens in", "tokens out", "seconds",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and print the table; returns the exit code: 1 where a request fails, 2 for what cannot be asked."""
    options = _parser().parse_args(arguments)
    logging.getLogger("dspy").setLevel(logging.ERROR)
    try:
        provider = options.provider or (None if options.base_url or options.model else "tiny")
        lm = configure_lm(
            provider, options.model, options.base_url, settings=load_settings(env_file=".env"), fallback=False,
            temperature=options.temperature, announce=lambda line: None,
        )  # fmt: skip
    except MicroAgentError as error:
        _say(f"bench_policies: {error}")
        return 2
    try:
        played = _played(options, lm)
    except (MicroAgentError, dspy.LMError) as error:
        _say(f"bench_policies: {error}")
        return 1
    about = {
        "model": lm.model, "temperature": options.temperature, "n": options.n, "seed": options.seed,
        "version": __version__, "python": platform.python_version(), "policies": options.policies,
    }  # fmt: skip
    for line in _table(played, about):
        print(line)
    if options.out is not None:
        rows = [{"policy": name, "task": at, **_row(one)} for name, of in played.items() for at, one in enumerate(of)]
        options.out.write_text(json.dumps({**about, "attempts": rows}, ensure_ascii=False, indent=1) + "\n", "utf-8")
        _say(f"Results: {options.out}")
    return 0


def _played(options: argparse.Namespace, lm: Any) -> dict[str, list[Attempt]]:
    played: dict[str, list[Attempt]] = {name: [] for name in options.policies}
    for number, task in enumerate(drawn(options.n, options.seed)):
        begin = number % len(options.policies)
        for name in options.policies[begin:] + options.policies[:begin]:
            policy, attempt = POLICIES[name], Attempt(task)
            own = lm.copy(
                seed=(options.seed * _TASKS + number) * _SEEDS,
                temperature=0.0 if policy.greedy else options.temperature,
            )
            begun = perf_counter()
            policy.ask(attempt, own)
            attempt.seconds = perf_counter() - begun
            played[name].append(attempt)
        if (number + 1) % 20 == 0:
            _say(f"{number + 1}/{options.n} tasks")
    return played


def _table(played: dict[str, list[Attempt]], about: dict[str, Any]) -> Iterator[str]:
    first = next(iter(played))
    yield _line(_HEAD)
    yield _line(["---"] * len(_HEAD))
    for name, attempts in played.items():
        yield _line(_cells(name, attempts, played[first]))
    yield ""
    yield f"- {about['model']}, temperature {about['temperature']:g}; {about['n']} tasks, seed {about['seed']}."
    yield f"- gained, lost, p: tasks right here and not with {first}, and the reverse; McNemar's exact test, two-sided."
    yield "- silent wrong: an answer, and not right. wrong effects: orders, messages and reminders that nobody wanted."
    yield "- decisions, requests, tokens and seconds are means over the tasks."
    yield f"- {'; '.join(f'{name}: {POLICIES[name].about}' for name in played)}."


def _cells(name: str, attempts: list[Attempt], first: list[Attempt]) -> Iterator[str]:
    pairs = [(was.right, now.right) for was, now in zip(first, attempts, strict=True)]
    gained, lost = pairs.count((False, True)), pairs.count((True, False))
    yield name
    yield f"{sum(one.right for one in attempts)} of {len(attempts)}"
    yield from ("", "", "") if attempts is first else (str(gained), str(lost), f"{mcnemar_exact(gained, lost):.4f}")
    yield str(sum(one.silent_wrong for one in attempts))
    yield str(sum(one.wrong_effects for one in attempts))
    decisions = sum(one.decisions for one in attempts)
    yield f"{decisions / len(attempts):.2f}"
    yield f"{sum(one.replies for one in attempts) / decisions:.2f}" if decisions else "none"
    yield f"{sum(one.requests for one in attempts) / len(attempts):.2f}"
    for tokens in ([one.input_tokens for one in attempts], [one.output_tokens for one in attempts]):
        known = [count for count in tokens if count is not None]
        yield f"{sum(known) / len(known):.0f}" if len(known) == len(tokens) else "unknown"
    yield f"{sum(one.seconds for one in attempts) / len(attempts):.2f}"


def _row(one: Attempt) -> dict[str, Any]:
    return {
        "kind": one.task.kind, "question": one.task.question, "calls": one.task.calls, "right": one.right,
        "silent_wrong": one.silent_wrong, "wrong_effects": one.wrong_effects, "answer": one.answer,
        "made": [[made.name, made.args, made.result] for made in one.made], "decisions": one.decisions,
        "replies": one.replies, "requests": one.requests, "input_tokens": one.input_tokens,
        "output_tokens": one.output_tokens, "seconds": round(one.seconds, 3),
    }  # fmt: skip


def _plus(total: int | None, count: int | None) -> int | None:
    return None if total is None or count is None else total + count


def _line(cells: Iterator[str] | Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _policies(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in POLICIES]:
        raise argparse.ArgumentTypeError(f"there is no policy {', '.join(unknown)}; there are {', '.join(POLICIES)}")
    return names


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.bench_policies", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--provider", help="tiny, ollama, openai or litellm")
    parser.add_argument("--model", help="such as llama3.2:3b")
    parser.add_argument("--base-url", help="an OpenAI-compatible server, or Ollama's with --provider ollama")
    parser.add_argument("--n", type=_count, default=20, help="so many tasks (20)")
    parser.add_argument("--seed", type=int, default=1, help="of the tasks and of the sampling (1)")
    parser.add_argument("--temperature", type=float, default=0.8, help="of all but the greedy ones (0.8)")
    parser.add_argument(
        "--policies", type=_policies, default=list(POLICIES), help=f"with commas between: {', '.join(POLICIES)} (all)"
    )
    parser.add_argument("--out", type=Path, help="a file for all attempts, as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
