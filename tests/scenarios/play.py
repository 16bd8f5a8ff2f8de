"""Plays a scenario over a real server on loopback and judges how the run ended."""

import atexit
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from micro_agent import Limits, MicroAgent, Run, configure_lm
from micro_agent.models.settings import Settings
from micro_agent.streaming import Ended
from micro_agent.testing import ModelServer, Received, Reply, text
from micro_agent.tools import load_tools

from . import what_is_wrong, what_must_not_happen, what_the_loop_meets, what_the_wire_does, where_the_call_is
from .saying import well
from .scenario import Called, Scenario, Turn, Way, tools

MAX_REQUESTS = 19
"""More than this for one question is no honest end but a waste."""
_LEAKS = ("tool_call", "<think", "</think", "<|", "```", '{"', "arguments", "Action", "Thought", "99")

_ran: list[Called] = []
"""What the tools of the run under way were really called with; scenarios are played one at a time."""
_TOOLS = tools(_ran)
_CALCULATOR = [*_TOOLS, load_tools()["calculator"]]

Verdict = Literal["right", "not answered", "silently wrong"]


@dataclass(frozen=True, slots=True)
class Played:
    """One run of a scenario: as the judge has it and as the table shows it."""

    scenario: Scenario
    way: Way
    sticky: bool
    run: Run
    requests: int
    verdict: Verdict

    @property
    def shown(self) -> str:
        """How it ended, with the number of requests to the model."""
        if self.verdict == "silently wrong":
            return f"**wrong** ({self.requests})"
        ended = "answered" if self.run.status == "completed" else str(self.run.termination_reason)
        return f"{ended} ({self.requests})" if self.verdict == "right" else f"**{ended}** ({self.requests})"


@dataclass
class Model:
    """A scripted model: it looks at what the tools gave and does what is left, badly once or always."""

    scenario: Scenario
    way: Way
    sticky: bool
    erred: bool = False

    def __call__(self, request: Received) -> Reply:
        turn = self._turn(request)
        if request.asks_if_final:
            return text(json.dumps({"done": turn.call is None}))
        if request.asks_to_make:
            return text(json.dumps({"make": turn.call is not None and self.scenario.means}))
        if self.erred and not self.sticky:
            return well(turn)
        bad = self.scenario.says(turn)
        self.erred = self.erred or bad is not None
        return well(turn) if bad is None else bad

    def _turn(self, request: Received) -> Turn:
        task = self.scenario.task
        observed = "\n".join(_observations(request))
        left = tuple(one for one, token in zip(task.plan, task.found, strict=True) if token not in observed)
        return Turn(task, left, self.way)


def _observations(request: Received) -> Iterator[str]:
    """What tools gave since the question; demos come before it."""
    said = [(message["role"], str(message.get("content"))) for message in request.messages]
    asked = max(index for index, (role, _) in enumerate(said) if role == "user" and not _of_the_loop(said[index][1]))
    for role, content in said[asked:]:
        if role == "tool" or content.startswith("Tool ["):
            yield content


def _of_the_loop(content: str) -> bool:
    own = ("Tool [", "Policy: ", "Format: ", "Note: ", "Is that your final answer?", "Then go on.", "Your reply holds ")
    return content.startswith(own)


_PARTS = (where_the_call_is, what_is_wrong, what_the_wire_does, what_the_loop_meets, what_must_not_happen)
SCENARIOS = tuple(scenario for part in _PARTS for scenario in part.scenarios())
"""All of them, in the order of WEAK-MODELS."""


class Stage:
    """One server for all scenarios, which are played one at a time, and the agents that ask it."""

    def __init__(self) -> None:
        self.model: Model | None = None
        self.server = ModelServer(self._say, models=["m"])
        atexit.register(self.server.close)

    def _say(self, request: Received) -> Reply:
        assert self.model is not None
        return self.model(request)

    @cache  # noqa: B019 - there is one stage
    def agent(self, way: Way, built_in: bool, timeout_s: float) -> MicroAgent:
        """An agent that works in this way; ``built_in``: with the calculator."""
        settings = Settings(llm_timeout=timeout_s)
        url = self.server.openai_url if way.wire == "openai" else self.server.url
        lm = configure_lm(way.wire, "m", url, "none", settings=settings)
        tools = _CALCULATOR if built_in else _TOOLS
        return MicroAgent(tools, lm, way.mode, limits=Limits(max_steps=8), settings=settings)


@cache
def _stage() -> Stage:
    return Stage()


@cache
def played(scenario: Scenario, way: Way, sticky: bool) -> Played:
    """The run of a scenario, played once a process."""
    stage = _stage()
    stage.model = Model(scenario, way, sticky)
    _ran.clear()
    before = len(stage.server.chats)
    run = _asked(scenario, way, stage, sticky=sticky)
    requests = len(stage.server.chats) - before
    return Played(scenario, way, sticky, run, requests, _judged(scenario, run, list(_ran), requests, sticky=sticky))


def _asked(scenario: Scenario, way: Way, stage: Stage, *, sticky: bool) -> Run:
    agent = stage.agent(way, scenario.built_in, scenario.timeout_s if sticky else 10.0)
    if not way.stream:
        return agent.ask(scenario.task.question)
    *_, last = agent.stream(scenario.task.question)
    assert isinstance(last, Ended)
    return last.run


def _judged(scenario: Scenario, run: Run, ran: list[Called], requests: int, *, sticky: bool) -> Verdict:
    task = scenario.task
    whole = run.status == "completed"
    if scenario.repeats:
        ran_right = all(one.name != "write_note" for one in ran)
    else:
        should = list(task.ran) if whole else list(task.ran)[: len(ran)]
        ran_right = sorted(ran, key=repr) == sorted(should, key=repr)  # what only reads runs at once
    if not ran_right or (whole and not _is_answer(run.answer, task.answer)):
        return "silently wrong"
    if whole:
        return "right"
    honest = run.status in ("stopped", "failed") and run.answer is None and requests <= MAX_REQUESTS
    if not honest:
        return "silently wrong"
    expected = sticky and scenario.readable is not True and run.termination_reason in scenario.ends
    return "right" if expected else "not answered"


def _is_answer(answer: str | None, right: str) -> bool:
    """Whether it holds the right answer, and nothing of a call, of thoughts or of what is wrong beside it."""
    said = answer or ""
    return right in said and not any(leak in said.replace(right, "") for leak in _LEAKS)
