"""`run_plan`: the tasks of a plan, one at a time, each a run of the agent; on record before it begins and after."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from os import fsencode
from pathlib import Path
from typing import Any

from micro_agent.agent import MicroAgent
from micro_agent.cancel import Cancel
from micro_agent.coding.summary import summary_of
from micro_agent.files.outside import refuse_inside
from micro_agent.plans.keeping import held
from micro_agent.plans.order import Node, blocked, chain, next_node
from micro_agent.plans.outcome import Failing, failing
from micro_agent.plans.plan import MOST_ROUNDS, Plan, fix_of
from micro_agent.plans.question import fix_question, question_of
from micro_agent.plans.runs import OnStep, Runs
from micro_agent.plans.state import PlanState, TaskStatus
from micro_agent.run import Run, new_id
from micro_agent.tools.callbacks import told
from micro_agent.traces import TraceStore

OnPlanEvent = Callable[[Mapping[str, Any]], None]
"""Told of ``task_complete`` and ``self_correction_triggered``, once each is on record."""
_AFTER: Mapping[str, TaskStatus] = {"completed": "completed", "stopped": "stopped", "confirmation_required": "paused"}


def run_plan(
    plan: Plan, agent: MicroAgent, *, state: str | Path | None = None, on_event: OnPlanEvent | None = None,
    on_step: OnStep | None = None, cancel: Cancel | None = None, retry: bool = False,
) -> PlanState:  # fmt: skip
    """Run the tasks of a plan, from where its state says that it stands, to the end or to the first approval.

    Args:
        plan: The tasks.
        agent: Who does them, such as a `coding_agent`. It has to write traces: runs are taken up from them.
        state: The file of the plan's state. ``None``: the one that `state_path` names.
        on_event: Called with each event, when it is on record.
        on_step: Called with each step of each run.
        cancel: Ends the run under way, and begins no other.
        retry: Whether tasks that failed, were stopped or blocked are done now, each in a new run.

    Returns:
        The state. ``status`` is ``paused`` where a run waits for an approval: decide it, and call this again.

    Raises:
        ConfigurationError: The agent writes no traces, or the state is of another plan or inside the repository.
        RunBusy: Another process works on this plan.
        StorageError: The state cannot be read or written.
    """
    runs = Runs.of(agent, cancel, on_step)
    path = Path(state) if state is not None else state_path(plan, runs.store)
    for folder in runs.repositories:
        refuse_inside(folder, path, "the state of the plan (--state)")
    with held(path):
        found = PlanState.load(path) if path.exists() else PlanState.of(plan, runs.repositories)
        found.require(plan, path)
        if retry:
            _put_back(found)
        work = _Work(plan, runs, found, path, told("on_event", on_event or _nothing))
        while not runs.is_over and (node := next_node(plan, found)) is not None:
            work.do(node)
            if found.task_status[node.id] in ("paused", "running"):
                break
    return found


def state_path(plan: Plan, store: TraceStore) -> Path:
    """Where the state of a plan lies, if nobody says otherwise: beside the runs, named after the plan's file."""
    name = sha256(fsencode(plan.source.resolve())).hexdigest() if plan.source else plan.digest
    return store.state_dir / "plans" / f"{name[:32]}.json"


def _put_back(state: PlanState) -> None:
    """Have what went wrong done again."""
    again = {task: status for task, status in state.task_status.items() if status in ("failed", "stopped", "blocked")}
    state.task_status |= dict.fromkeys(again, "pending")


def _nothing(event: Mapping[str, Any]) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A plan under way; its state is held."""

    plan: Plan
    runs: Runs
    state: PlanState
    path: Path
    tell: Callable[[Mapping[str, Any]], None]

    def do(self, node: Node) -> None:
        """Begin the run of a task or take it up, and note what came of it."""
        question = self._question(node)
        if self.state.task_status[node.id] == "pending":
            run_id, before = new_id(), self.state.results.get(node.id)
            earlier = {"earlier": [*before.get("earlier", []), before["run_id"]]} if before else {}
            self.state.task_status[node.id], self.state.results[node.id] = "running", {"run_id": run_id, **earlier}
            # Before the run begins: it can be found, whatever happens.
            self._save({"event": "task_begun", "task": node.id, "run_id": run_id})
            run = self.runs.begin(run_id, question)
        else:
            run = self.runs.take_up(self.state.results[node.id]["run_id"], question)
        if run.status != "running":
            self._note(node, run)

    def _question(self, node: Node) -> str:
        if node.fixes is not None:
            return node.task
        earlier = [
            {"task": one.id, **self.state.results[one.id]}
            for task in node.depends_on
            for one in chain(self.plan, self.state, task)
        ]
        return question_of(node.task, goal=self.plan.goal, verify=node.verify, earlier=earlier)

    def _note(self, node: Node, run: Run) -> None:
        """Note how a run ended or that it waits, with all that follows from it, in one step."""
        self.state.environment.update(provider=run.provider, model=run.model)
        status, events = self._status(node, run), list[dict[str, Any]]()
        if status == "paused":
            if self.state.task_status[node.id] == "paused":
                return
        else:
            events.append({"event": "task_complete", "task": node.id, "status": status, "run_id": run.id})
        self.state.task_status[node.id] = status
        if status == "needs_fix":
            events.append(self._correct(node))
        for task in blocked(self.plan, self.state):
            self.state.task_status[task] = "blocked"
            events.append({"event": "task_complete", "task": task, "status": "blocked", "run_id": None})
        self._save(*events)

    def _save(self, *events: dict[str, Any]) -> None:
        """Save the state with these events, then tell them."""
        self.state.events.extend(events)
        self.state.save_held(self.path)
        for event in events:
            self.tell(event)

    def _status(self, node: Node, run: Run) -> TaskStatus:
        """How a task stands after its run, and what it came to as its result."""
        status = _AFTER.get(run.status, "failed")
        result = dict(self.state.results[node.id])
        if status != "paused":
            result |= {"answer": run.answer, "files": summary_of(run).changed, "reason": run.termination_reason}
            result |= {"error": run.error.get("message")} if run.error else {}
        left = None
        if status in ("completed", "stopped") and run.termination_reason != "cancelled":
            left = failing(run, verify=node.verify, demanded=node.fixes is not None)
        if left is not None and (left.ran or status == "completed"):  # what was stopped may not have come to its tests
            result["failing"] = asdict(left)
            is_last = len(chain(self.plan, self.state, node.fixes or node.id)) > MOST_ROUNDS
            status, result["reason"] = ("failed" if is_last else "needs_fix"), "tests_failing"
        # What the next task is told is the same before and after a kill: as it is written, without secrets.
        self.state.results[node.id] = json.loads(self.runs.store.masked(result))
        return status

    def _correct(self, node: Node) -> dict[str, Any]:
        """Put a correction behind a task; returns the event that says so."""
        first = node.fixes or node.id
        links = chain(self.plan, self.state, first)
        fix, left = fix_of(first, len(links)), Failing(**self.state.results[node.id]["failing"])
        put_in = {
            "id": fix, "fixes": first, "depends_on": [node.id], "task": fix_question(links[0].task, left),
            "verify": links[0].verify,
        }  # fmt: skip
        self.state.fixes.append(json.loads(self.runs.store.masked(put_in)))
        self.state.task_status[fix] = "pending"
        return {"event": "self_correction_triggered", "failed_task": node.id, "fix_task": fix}
