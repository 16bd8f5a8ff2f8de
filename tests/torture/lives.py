"""What children of the nursery do: a run of an agent with side effects, what mends it, and what is found then.

A folder of a run holds ``effects``, what its tools did in the world, and ``disk`` with its traces and its state.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from findings import Left, question
from mischief import MISCHIEF, nothing

from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.effects import Approval, Question
from micro_agent.errors import RunBusy, RunNotFound, StorageError
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.task import Task
from micro_agent.run import LMCall, Step
from micro_agent.run.questions import digest_of
from micro_agent.running.session import Confirmation
from micro_agent.testing import Received, Reply, call, calls, text
from micro_agent.traces import TraceStore

TOOL_OF = {"a": "send", "b": "send", "c": "pay"}
"""What the model wants done, in this order, and by which tool; to pay, a person is asked."""
KEPT = "0" * 32
ASKED: dict[str, Any] = {"tool": "send", "args": {}, "call": 0, "call_id": "a"}
ASKED["sha256"] = digest_of(ASKED)
SHARED = "5" * 32
"""The id of the trace that all writers append to."""
LONGEST = 300_000
TASKS_OF_AN_EVAL = 3
PARAMETERS = {"type": "object", "properties": {"letter": {"type": "string"}}, "required": ["letter"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
FOLDER = "TORTURED_FOLDER"
Words = Iterator[Any]


def model(request: Received) -> Reply:
    """Looks around, does a, b and c, and tries again what was interrupted. It knows what stands in the messages."""
    known: dict[str, Any] = {}
    asked: dict[str, str] = {}
    for message in request.messages:
        for made in message.get("tool_calls") or ():
            asked[made["id"]] = json.loads(made["function"]["arguments"]).get("letter", "look")
        if message["role"] == "tool":
            known[asked[message["tool_call_id"]]] = message["content"]
    for letter, tool in TOOL_OF.items():
        if letter not in known or "INTERRUPTED" in known[letter]:
            wanted = (tool, {"letter": letter})
            return call(*wanted) if known else calls(("look", {}), wanted)
    return text("Done.")


# The agent


def store_of(folder: str | Path) -> TraceStore:
    """The traces and the state in a folder."""
    disk = Path(folder) / "disk"
    return TraceStore(disk / "traces", state_dir=disk / "state")


def tools_of(folder: str | Path, mischief: Callable[[Path], None]) -> list[Tool]:
    """Look around (and ``mischief`` happens meanwhile), send and pay."""

    def look() -> str:
        mischief(Path(folder))
        return "nothing " * 400

    def do(letter: str) -> str:
        effect(Path(folder) / "effects", letter)
        return "done"

    return [
        Tool("look", "Look around.", NOTHING, look, read_only=True, timeout_s=None),
        Tool("send", "Send a letter.", PARAMETERS, do, timeout_s=None),
        Tool("pay", "Pay for a letter.", PARAMETERS, do, timeout_s=None, requires_confirmation=True, preview=bill),
    ]


def bill(args: dict[str, Any]) -> dict[str, Any]:
    """What a person is shown of a payment."""
    return {"kind": "command", "id": "cmd_0123456789", "text": f"pay {args['letter']}"}


def get_tools() -> dict[str, Tool]:
    """The tools for the command line (``TOOLS_MODULES``)."""
    return {tool.name: tool for tool in tools_of(os.environ[FOLDER], nothing)}


def effect(path: Path, letter: str) -> None:
    """Do something for good, by other system calls than the ones that are made to fail."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_DSYNC, 0o600)
    try:
        os.writev(descriptor, [letter.encode() + b"\n"])
    finally:
        os.close(descriptor)


def careful(asked: Question) -> Approval:
    """Approves, but never what may have happened already."""
    return Approval("reject" if "interrupted" in asked.reason else "approve")


def agent_of(url: str, folder: str | Path, confirm: Confirmation, mischief: str = "") -> MicroAgent:
    """The agent of a folder."""
    lm = configure_lm("openai", "scripted", url, fallback=False)
    return MicroAgent(
        tools=tools_of(folder, MISCHIEF[mischief]), lm=lm, rules=[], limits=Limits(max_steps=20),
        traces=store_of(folder), confirm=confirm,
    )  # fmt: skip


def told(work: Callable[[], Run]) -> dict[str, Any]:
    """A run in words for the test; what storage refuses is one of its words."""
    try:
        run = work()
    except StorageError as error:
        return {"status": "refused", "message": str(error)}
    message = (run.error or {}).get("message")
    return {"status": run.status, "reason": run.termination_reason, "answer": run.answer, "message": message}


def ask(url: str, folder: str, *, pause: bool = False, before: str = "", mischief: str = "") -> Words:
    """Run the agent, to its end or to the first question. ``before`` and meanwhile there can be mischief."""
    MISCHIEF[before](Path(folder))
    agent = agent_of(url, folder, "pause" if pause else careful, mischief)
    yield told(lambda: agent.ask(question(Path(folder))))


def decide(url: str, folder: str, *, args: dict[str, Any] | None = None) -> Words:
    """Approve what the run asks, or that it is done with other arguments."""
    store = store_of(folder)
    try:
        store.decide(store.open_runs()[0].id, "approve", args=args)
        yield {"status": "decided"}
    except StorageError as error:
        yield {"status": "refused", "message": str(error)}


def edit(url: str, folder: str) -> Words:
    """Approve the payment for another letter."""
    return decide(url, folder, args={"letter": "d"})


def go_on(url: str, folder: str) -> Words:
    """Resume the run, with nobody to ask."""
    agent = agent_of(url, folder, "pause")
    yield told(lambda: agent.resume(store_of(folder).open_runs()[0].id))


def mend(url: str, folder: str, *, harm: str = "") -> Words:
    """Resume what was left, to its end, and say what is missing, what there is twice, and what cannot be read.

    ``before`` in the folder is a copy of ``disk`` from earlier in the run's life: nothing of it may be missing either.
    """
    MISCHIEF[harm](Path(folder))
    store, before = store_of(folder), Path(folder) / "before"
    try:
        left = Left.of(Path(folder), store)
        if left.run is not None:
            agent_of(url, folder, careful).resume(left.run.id)
    except (RunBusy, RunNotFound):  # another one mends it
        yield "beaten"
        return
    found = left.found()
    earlier = Left.of(Path(folder), TraceStore(before / "traces", state_dir=before / "state"))
    if earlier.run is not None:
        trace = store.path(earlier.run.id)
        found["lost"] += replace(earlier, store=store, trace=trace).found()["lost"]
    yield found


def resume_only(url: str, folder: str) -> Words:
    """Resume with somebody to ask, and look at nothing."""
    left = [run for run in store_of(folder).open_runs() if run.question is not None]
    agent = agent_of(url, folder, careful)
    yield told(lambda: agent.resume(left[0].id)) if left else {"status": "nothing"}


def command(url: str, folder: str, *, mischief: str = "") -> Words:
    """`micro-agent ask`, with its signals and its exit code, in this process."""
    from micro_agent.cli import main

    disk = Path(folder) / "disk"
    MISCHIEF[mischief](Path(folder))
    os.environ |= {
        FOLDER: folder, "TOOLS_MODULES": "lives", "TRACES_DIR": str(disk / "traces"),
        "MICRO_AGENT_STATE_DIR": str(disk / "state"), "LLM_FALLBACK": "0",
    }  # fmt: skip
    sys.argv = [
        "micro-agent", "ask", "--provider", "openai", "--model", "scripted", "--base-url", url, "--max-steps", "20",
        "--approve", "all", question(Path(folder)),
    ]  # fmt: skip
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the nursery's orders are nothing to ask about
    outputs = [os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("out", "err")]
    for number, descriptor in enumerate(outputs, 1):
        os.dup2(descriptor, number)
    try:
        main()
    except SystemExit as error:
        yield error.code


# Storage alone


def keep(url: str, folder: str) -> Words:
    """Write a journal in which everything happens; say what is written down as soon as it is."""
    store, run = store_of(folder), Run(id=KEPT, question="why?")
    journal = store.start(run)
    yield "started"
    run.calls.append(LMCall(reply={"text": "x" * 9000}))
    journal.replied(run.calls[0])
    yield "replied"
    journal.asked(ASKED)
    yield "asked"
    decision = journal.settle(ASKED, "approve", "go")
    yield "settled"
    journal.decided(decision.decision, decision.feedback)
    yield "decided"
    journal.tool_started(0, "a", "send", {}, side_effects=True)
    yield "tool"
    run.steps.append(Step(tool="send", call=0, call_id="a", observation={"ok": True}))
    journal.step(run.steps[0])
    yield "step"
    run.status, run.answer = "completed", "so"
    journal.finish(run)
    yield "finished"


def write(url: str, folder: str, *, name: str, seed: int, first: int, lines: int) -> Words:
    """Append records to the shared trace and end short runs, with lines up to 300 KB; say each that is written."""
    store, random = store_of(folder), Random(seed)
    for number in range(first, first + lines):
        size = int(LONGEST ** random.uniform(0.3, 1))
        store.append(Run(id=SHARED, question=f"{name} {number} {size}", answer=name[0] * size))
        yield ["shared", f"{name} {number} {size}"]
        run = Run(question=f"{name} {number} {size}")
        journal = store.start(run)
        run.calls.append(LMCall(reply={"text": name[0] * size}))
        journal.replied(run.calls[0])
        run.status, run.answer = "completed", str(size)
        journal.finish(run)
        yield ["run", run.id]


def header_of_an_eval() -> Header:
    """The first line of a result file."""
    return Header(dataset="t", dataset_sha256="0", tasks=[f"t{n}" for n in range(TASKS_OF_AN_EVAL)])


def evaluate(url: str, folder: str) -> Words:
    """Write the results of an eval that are still missing; say each."""
    path = Path(folder) / "results.jsonl"
    header = header_of_an_eval()
    with ResultFile.resume(path) if path.exists() else ResultFile.create(path, header) as file:
        for name in header.tasks:
            if (name, 0) not in file.done:
                run = Run(question=name, answer="x" * 9000, status="completed")
                task = Task(id=name, question=name, expect_contains=["x"])
                file.append(Result(task=task, run=run, wall_s=0.1, checks=[], score=1.0, success=True))
                yield name


def save(url: str, folder: str) -> Words:
    """Save a run where another one was saved."""
    Run(question="new", answer="x" * 9000).save(Path(folder) / "run.json")
    yield "saved"


def warm_up(url: str, folder: Path) -> None:
    """Have everything imported that children import as they go."""
    import_module("micro_agent.cli")
    folder = folder / "warm"
    folder.mkdir()
    (said,) = ask(url, str(folder), pause=True)
    assert said["status"] == "confirmation_required", said
    (found,) = mend(url, str(folder))
    assert not found["why"], found
    shutil.rmtree(folder)


TASKS: dict[str, Callable[..., Words]] = {
    "ask": ask, "decide": decide, "edit": edit, "go on": go_on, "mend": mend, "resume": resume_only, "command": command,
    "keep": keep, "write": write, "evaluate": evaluate, "save": save,
}  # fmt: skip
