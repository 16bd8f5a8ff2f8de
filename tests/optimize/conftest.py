"""Models that are better or worse with demos, tasks for them, and an optimization of an agent that asks them."""

import io
import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from micro_agent.cancel import Cancel
from micro_agent.evaluation.datasets import load_tasks
from micro_agent.models import configure_lm
from micro_agent.models.settings import load_settings
from micro_agent.optimize import Bench, Bounds, Job, Outcome, Teller, optimize
from micro_agent.rules.limits import Limits
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, Received, Reply, Script, call, decision, final, text
from micro_agent.tools import load_tools

QUESTION = re.compile(r"(alpha|beta) of (\d+) and (\d+)")
SIGN = {"alpha": "+", "beta": "*"}
ALL = [(kind, a, a + 1) for kind in SIGN for a in (1, 2, 3, 4, 11, 12, 13, 14)]

TASKS = "tasks:\n" + "".join(
    f"- {{id: {kind}-{a}, question: {kind} of {a} and {b}, tags: [{kind}, {'small' if a < 10 else 'large'}], "
    f"expect_number: {a + b if kind == 'alpha' else a * b}, expect_tools: [calculator]}}\n"
    for kind, a, b in ALL
)


@dataclass(frozen=True)
class Seen:
    """What a request shows: how the model is asked, the question, the demos before it, what the tool returned."""

    mode: Mode
    system: str
    kind: str
    a: int
    b: int
    shown: set[str]
    """The kinds of the demos."""
    observed: str | None


def seen(request: Received) -> Seen:
    """Read a request of the agent."""
    said = [str(message.get("content") or "") for message in request.messages]
    asked = [(place, match) for place, one in enumerate(said) if (match := QUESTION.fullmatch(one))]
    place, match = asked[-1]
    observed = next((re.search(r'"result": (\d+)', one) for one in said[place + 1 :] if "result" in one), None)
    return Seen(
        "native" if (request.body or {}).get("tools") else "json", said[0], match[1], int(match[2]), int(match[3]),
        {earlier[1] for _, earlier in asked[:-1]}, observed[1] if observed else None,
    )  # fmt: skip


def solver(able: Callable[[Seen], bool]) -> Callable[[Received], Reply]:
    """A model that uses the calculator and says what it returned, where it is ``able``; else it says that it is 0."""

    def play(request: Received) -> Reply:
        state = seen(request)
        answer, use = (text, call) if state.mode == "native" else (final, decision)
        if not able(state):
            return answer("It is 0.")
        if state.observed is None:
            return use("calculator", {"expression": f"{state.a}{SIGN[state.kind]}{state.b}"})
        return answer(f"It is {state.observed}.")

    return play


helped = solver(lambda state: state.a < 10 or state.kind in state.shown)
"""Solves small questions, and large ones when a demo of their kind is shown."""
harmed = solver(lambda state: not state.shown)
"""Solves everything until it is shown a demo."""
unmoved = solver(lambda state: state.a < 10)
"""Solves small questions, whatever it is shown."""
hopeless = solver(lambda state: False)
"""Solves nothing."""
picky = solver(lambda state: state.a < 10 or state.shown == {"beta"})
"""Solves large questions when demos of one kind alone are shown."""
thrown_off = solver(lambda state: not (state.shown and (state.kind, state.a) == ("beta", 1)))
"""Solves everything, but for one question once it is shown a demo."""
nudged = solver(lambda state: state.a < 10 or (bool(state.shown) and (state.kind, state.a) == ("beta", 11)))
"""Solves small questions, and one large one once it is shown a demo."""
_told = solver(lambda state: state.a < 10 or "excellent" in state.system)


def reflecting(instructions: str, asked: list[Received] | None = None) -> Callable[[Received], Reply]:
    """Solves large questions once it is told to be excellent; asked for instructions, it writes ``instructions``."""

    def play(request: Received) -> Reply:
        if "new_instruction" not in str(request.messages):
            return _told(request)
        if asked is not None:
            asked.append(request)
        return text(json.dumps({"new_instruction": instructions}))

    return play


@dataclass
class Shop:
    """A folder with tasks in it, in which agents are optimized."""

    folder: Path
    stack: ExitStack
    told: io.StringIO
    seen = staticmethod(seen)
    helped = staticmethod(helped)
    harmed = staticmethod(harmed)
    unmoved = staticmethod(unmoved)
    hopeless = staticmethod(hopeless)
    picky = staticmethod(picky)
    thrown_off = staticmethod(thrown_off)
    nudged = staticmethod(nudged)
    reflecting = staticmethod(reflecting)

    @property
    def demos(self) -> Path:
        """The file of compiled demos, as the default settings name it."""
        return self.folder / "opt" / "plan_demos.json"

    def server(self, script: Script) -> ModelServer:
        """A model server that closes at the end of the test."""
        return self.stack.enter_context(ModelServer(script))

    def bench(self, server: ModelServer, mode: Mode = "native", **options: Any) -> Bench:
        """An agent's model and tools: native mode on OpenAI's wire, JSON mode on Ollama's."""
        provider, url = ("openai", server.openai_url) if mode == "native" else ("ollama", server.url)
        found, lm = load_settings(), configure_lm(provider, "scripted", url, fallback=False)
        tools = list(load_tools().values())
        return Bench(lm=lm, tools=tools, settings=found, mode=mode, limits=Limits(), **options)

    def optimize(
        self, bench: Bench, *, force: bool = False, allow_equal: bool = False, resume: bool = False,
        bounds: Bounds | None = None, **job: Any,
    ) -> Outcome:  # fmt: skip
        """Optimize with all tasks; what is told goes to ``told``."""
        bounds = bounds or Bounds(concurrency=1, cancel=Cancel())
        job.setdefault("n", len(ALL))
        asked = Job(**job)
        dataset = load_tasks("tasks.yaml")
        return optimize(
            asked, dataset, bench, self.demos, bounds=bounds, teller=Teller(self.told), force=force,
            allow_equal=allow_equal, resume=resume,
        )  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A `Shop` in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("tasks.yaml").write_text(TASKS)
    with ExitStack() as stack:
        yield Shop(tmp_path, stack, io.StringIO())
