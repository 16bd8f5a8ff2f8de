"""What the page costs: its first paint in Chromium beside that of an empty page, and the parts of a long run.

`python -m benchmarks.bench_page [rounds]`. Both pages come from one server on loopback, in turns, each in a new window.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from threading import Thread
from time import process_time, sleep
from typing import Any

import uvicorn
from fastapi import Response
from playwright.sync_api import Browser, sync_playwright

from micro_agent import MicroAgent
from micro_agent.page.one_file import page_of
from micro_agent.page.view import view_of
from micro_agent.run import LMCall, Run, Step
from micro_agent.server.app import create_app
from micro_agent.server.runs import RunPool
from micro_agent.server.serve import listening, url_of
from micro_agent.server.settings import ServerSettings
from micro_agent.testing import ScriptedLM
from micro_agent.traces import TraceStore

EMPTY = "<!doctype html><title>Empty</title><p>Nothing.</p>"
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
STEPS = 10_000


def long_run(steps: int) -> Run:
    """A run with so many replies, every tenth of them repaired, and as many steps."""
    run = Run(question="A long one", status="stopped", termination_reason="max_steps")
    for at in range(steps):
        said: dict[str, Any] = {"text": f"I look at {{'at': {at}}}.", "tool_calls": []}
        repairs = [{"kind": "python_literal", "before": f"{{'at': {at}}}", "after": f'{{"at": {at}}}'}]
        run.calls.append(LMCall(reply=said, repairs=[] if at % 10 else repairs, latency_s=0.5))
        run.steps.append(Step(tool="look", args={"at": at}, observation={"found": f"thing {at}"}, call=at))
    return run


def first_paint(browser: Browser, url: str) -> float:
    """Milliseconds from the begin of the navigation until something of the page is drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(url)
    page.wait_for_function(PAINT)
    painted: float = page.evaluate(PAINT)
    context.close()
    return painted


def cpu_ms(work: Callable[[], object], rounds: int = 5) -> float:
    """The median processor time of some work, in milliseconds."""
    taken: list[float] = []
    for _ in range(rounds):
        began = process_time()
        work()
        taken.append(1000 * (process_time() - began))
    return median(taken)


def main(rounds: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = TraceStore(Path(folder, "traces"), state_dir=Path(folder, "state"))
        for number in range(50):
            store.append(
                Run(question=f"Question {number}", status="completed", answer="Yes.", termination_reason="final")
            )
        agent = MicroAgent(tools=[], lm=ScriptedLM([]), traces=store)
        app = create_app(pool=RunPool(lambda _: agent, store), store=store, settings=ServerSettings())
        app.add_api_route("/empty", lambda: Response(EMPTY, media_type="text/html"))
        listener = listening("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            sleep(0.01)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        first_paint(browser, f"{url_of(listener)}/empty")
        painted = [(first_paint(browser, f"{url_of(listener)}/empty"), first_paint(browser, f"{url_of(listener)}/"))
                   for _ in range(rounds)]  # fmt: skip
        browser.close()
        server.should_exit = True
        thread.join()
    for name, of in (("median", median), ("fastest", min)):
        empty, page = (of(times) for times in zip(*painted, strict=True))
        told = f"first paint, {name} of {rounds}: {page:.0f} ms, of an empty page {empty:.0f} ms"
        print(f"{told}, ratio {page / empty:.2f}")
    run = long_run(STEPS)
    lists = cpu_ms(lambda: [(call.reply["text"], step.args) for call, step in zip(run.calls, run.steps, strict=True)])
    part = cpu_ms(lambda: view_of(run, first=STEPS, count=500))
    whole = cpu_ms(lambda: page_of(run), rounds=3)
    print(
        f"{STEPS:,} steps: a part of 500 items {part:.0f} ms, the one file {whole:.0f} ms, a plain loop {lists:.1f} ms"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
