"""A zoo of tools, by way of the library and of a server: each is a failure of its own call and nobody else's."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
import zoo

from micro_agent import MicroAgent, Run
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, text

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
TOOLS = zoo.get_tools()
BEASTS = [name for name in TOOLS if name != "bystander"]


def asked(name: str, ask: Callable[[MicroAgent], Run]) -> Run:
    lm = ScriptedLM([call(name, {}), text("Done.")])
    return ask(MicroAgent(tools=[TOOLS[name]], lm=lm, rules=[], confirm="never"))


def is_told(name: str, steps: list[Any]) -> bool:
    """Whether the steps of a run say that the beast failed, or (a broken ``__repr__``) how."""
    [step] = steps
    if name.startswith("confirm-"):
        return step["error"] == "APPROVAL_REQUIRED" or step["observation"] == "well"
    hidden = "its repr failed" in str(step["observation"]) or "null" in str(step["observation"])
    return step["error"] in ("TOOL_EXCEPTION", "TOOL_TIMEOUT") or hidden or step["observation"] is None


def blocking(agent: MicroAgent) -> Run:
    return agent.ask("?")


def awaited(agent: MicroAgent) -> Run:
    return asyncio.run(agent.aask("?"))


@pytest.mark.parametrize("ask", [blocking, awaited])
def test_the_run_of_each_goes_on(ask: Callable[[MicroAgent], Run]) -> None:
    with ThreadPoolExecutor(16) as threads:  # Ctrl-C never comes to them, so none of it is taken for the user's
        runs = dict(zip(BEASTS, threads.map(asked, BEASTS, [ask] * len(BEASTS)), strict=True))
    wrong = [name for name, run in runs.items() if run.status != "completed"]
    untold = [name for name, run in runs.items() if not is_told(name, [step.model_dump() for step in run.steps])]
    assert (wrong, untold) == ([], [])


def test_on_one_loop_in_the_main_thread_each_goes_on_beside_a_bystander() -> None:
    async def main() -> list[Run]:
        async def one(name: str) -> Run:
            async with room:
                lm = ScriptedLM([call(name, {}), text("Done.")])
                return await MicroAgent(tools=[TOOLS[name]], lm=lm, rules=[], confirm="never").aask("?")

        room = asyncio.Semaphore(16)
        return await asyncio.gather(one("bystander"), *map(one, BEASTS))

    bystander, *runs = asyncio.run(main())
    assert bystander.steps[0].observation == "well"
    assert {run.status for run in [bystander, *runs]} == {"completed"}


def plays(request: Received) -> Reply:
    """A model that calls the tool that the question names."""
    messages = request.messages
    if request.asks_if_final:
        return text('{"done": true}')
    if messages[-1]["role"] == "tool":
        return text("Done.")
    return call(next(m["content"] for m in messages if m["role"] == "user").split()[-1], {})


@contextmanager
def serving(model: ModelServer, folder: Path) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "TOOLS_MODULES": "zoo",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)]),
    }  # fmt: skip
    options = ["--provider", "openai", "--base-url", model.openai_url, "--model", "m", "--port", "0"]
    command = [sys.executable, "-m", "micro_agent", "serve", *options]
    with (folder / "stderr").open("wb") as log:
        process = subprocess.Popen[bytes](command, cwd=folder, env=environment, stderr=log)
    try:
        while not (found := re.search(r"listens on (http://\S+)\n", (folder / "stderr").read_text())):
            assert process.poll() is None, (folder / "stderr").read_text()
            Event().wait(0.05)
        yield process, found[1]
    finally:
        process.kill()
        process.wait()


def test_a_server_outlives_them_all_and_so_do_the_runs_beside_them(tmp_path: Path) -> None:
    with ModelServer(plays) as model, serving(model, tmp_path) as (process, url), httpx.Client(trust_env=False) as web:

        def post(name: str) -> tuple[int, Any]:
            while True:
                answer = web.post(f"{url}/ask", json={"question": f"Call {name}"}, timeout=60)
                if answer.status_code != 429:
                    return answer.status_code, answer.json()
                Event().wait(0.05)

        with ThreadPoolExecutor(6) as threads:
            turns = [[beast, *(["bystander"] if at % 10 == 0 else [])] for at, beast in enumerate(BEASTS)]
            names = [name for turn in turns for name in turn]
            answers = list(zip(names, threads.map(post, names), strict=True))
        assert process.poll() is None, (tmp_path / "stderr").read_text()
        assert web.get(f"{url}/healthz").status_code == 200
    unharmed = [told for name, told in answers if name == "bystander"]
    assert [(code, run.get("answer")) for code, run in unharmed] == [(200, "Done.")] * len(unharmed)
    for name, (code, run) in answers:
        assert code in (200, 202), (name, run)
    assert "Traceback" not in (tmp_path / "stderr").read_text()
