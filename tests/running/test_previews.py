"""What a tool shows of a call before it is made: part of the question, made once more before the call, never twice."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, Tool, tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import ToolDefinitionError
from micro_agent.run.questions import digest_of
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.tools import ToolError
from micro_agent.traces import TraceStore

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
PATCH: dict[str, Any] = {"kind": "patch", "id": "patch_0123456789", "text": "--- a/x\n+++ b/x\n", "files": ["x"]}
ASKS: list[Callable[[MicroAgent], Run]] = [
    lambda agent: agent.ask("Tidy up a."),
    lambda agent: asyncio.run(agent.aask("Tidy up a.")),
]


class Desk:
    """A tool with a preview, what it was called with, and what the preview says."""

    def __init__(self, shows: Any = None, **options: Any) -> None:
        self.done: list[str] = []
        self.previews = 0
        self.shows: Any = PATCH if shows is None else shows
        options = {"requires_confirmation": True, "preview": self.preview, "timeout_s": 30.0} | options
        self.tool = Tool("change", "Change a file.", SCHEMA, self.change, **options)

    def change(self, path: str) -> dict[str, Any]:
        """Note it."""
        self.done.append(path)
        return {"changed": path}

    def preview(self, args: dict[str, Any]) -> dict[str, Any]:
        """What is shown now; an iterator gives one thing after the other, an exception is raised."""
        self.previews += 1
        args["path"] = "not what the call is made with"
        shows: Any = next(self.shows) if hasattr(self.shows, "__next__") else self.shows
        if isinstance(shows, BaseException):
            raise shows
        return shows

    def agent(self, confirm: Any = "pause", store: TraceStore | None = None, *more: Any) -> MicroAgent:
        """An agent that has the model call the tool."""
        script = [call("change", {"path": "a"}), *more, text("Done.")]
        return MicroAgent(tools=[self.tool], lm=ScriptedLM(script), rules=[], traces=store, confirm=confirm)


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("stored", [False, True])
def test_a_preview_is_part_of_the_question_and_made_once_more_before_the_call(
    ask: Callable[[MicroAgent], Run], stored: bool, store: TraceStore
) -> None:
    desk = Desk()
    agent = desk.agent("pause", store if stored else None)
    run = ask(agent)
    assert run.confirmation is not None
    assert (run.status, run.confirmation["shown"], run.confirmation["args"]) == (
        "confirmation_required", PATCH, {"path": "a"},
    )  # fmt: skip
    assert run.confirmation["sha256"] == digest_of(run.confirmation)
    assert digest_of({**run.confirmation, "shown": {**PATCH, "text": ""}}) != run.confirmation["sha256"]
    if stored:
        assert store.load(run.id).confirmation == store.peek(run.id).confirmation == run.confirmation
        assert store.decide(run.id, "approve") == run.confirmation
    done = agent.resume(run.id if stored else run, None if stored else Approval("approve"))
    assert (done.status, desk.done, desk.previews) == ("completed", ["a"], 2)
    assert (done.steps[-1].args, done.steps[-1].observation) == ({"path": "a"}, {"changed": "a"})


def test_whoever_is_asked_sees_the_preview() -> None:
    seen: list[Question] = []

    def confirm(question: Question) -> Approval:
        seen.append(question)
        return Approval("approve")

    desk = Desk({"text": "a\x1b[2J", "at": float("nan"), "when": (1, 2)})
    assert desk.agent(confirm).ask("Tidy up a.").status == "completed"
    assert seen[0].shown == {"text": "a\x1b[2J", "at": "nan", "when": [1, 2]}
    assert str(seen[0].expires) > "2026"
    assert desk.done == ["a"]


@pytest.mark.parametrize("confirm", ["pause", "never", "all"])
def test_a_preview_that_fails_is_what_came_of_the_call_and_nobody_is_asked(confirm: Any, store: TraceStore) -> None:
    hint: dict[str, Any] = {"tool_call": {"name": "look", "arguments": {}}, "rationale": "Look first."}
    cases: list[tuple[Any, str, str]] = [
        (ToolError("INVALID_DIFF", "Hunk 1 is empty.", recovery=hint), "INVALID_DIFF", "Hunk 1 is empty."),
        (OSError("no disk"), "TOOL_EXCEPTION", "OSError: no disk"),
        (SystemExit(3), "TOOL_EXCEPTION", "SystemExit: 3"),
        ("no object", "TOOL_EXCEPTION", "TypeError: a preview is an object, not a value of type str"),
    ]
    for shows, code, message in cases:
        desk = Desk(shows)
        run = desk.agent(confirm, store).ask("Tidy up a.")
        (step,) = run.steps
        assert (run.status, desk.done, step.ok, step.error, step.latency_s) == ("completed", [], False, code, None)
        assert step.observation["message"] == message
        assert step.observation.get("recovery_suggestion") == (hint if code == "INVALID_DIFF" else None)
        assert not any('"asked"' in path.read_text() for path in store.state_dir.rglob("*.journal"))


def test_a_preview_may_take_as_long_as_its_tool() -> None:
    held = Event()
    desk = Desk(timeout_s=0.05, preview=lambda args: {"waited": held.wait(30)})  # pyright: ignore[reportUnknownLambdaType]
    (step,) = desk.agent("all").ask("Tidy up a.").steps
    held.set()
    assert (step.error, desk.done) == ("TOOL_TIMEOUT", [])


@pytest.mark.parametrize("stored", [False, True])
def test_a_call_that_would_not_do_any_more_what_was_approved_is_not_made(stored: bool, store: TraceStore) -> None:
    cases: list[tuple[Any, str]] = [
        ({**PATCH, "text": "other"}, "Look again, then propose it again."),
        (ToolError("STALE_FILE", "x has changed."), "(STALE_FILE: x has changed.)"),
    ]
    for now, told in cases:
        desk = Desk(iter([PATCH, now, PATCH, PATCH]))
        again = [call("change", {"path": "a"})]
        agent = desk.agent("pause", store if stored else None, *again)
        run = agent.ask("Tidy up a.")
        run = agent.resume(run.id if stored else run, Approval("approve"))
        (step,) = [step for step in run.steps if step.is_tool]
        assert (step.error, step.ok, step.latency_s, desk.done) == ("APPROVAL_EXPIRED", False, None, [])
        assert "What was approved is no longer what this call would do" in step.observation["message"]
        assert step.observation["message"].endswith(told)
        assert run.status == "confirmation_required"  # the model proposed it again
        assert run.usage.tool_calls == 0
        assert (agent.resume(run.id if stored else run, Approval("approve")).status, desk.done) == ("completed", ["a"])


def test_a_question_whose_preview_has_changed_is_asked_anew_where_nobody_has_decided(store: TraceStore) -> None:
    other = {**PATCH, "text": "other"}
    desk = Desk(iter([PATCH, other, other, other]))
    agent = desk.agent("pause", store)
    first = agent.ask("Tidy up a.")
    second = agent.resume(first.id)
    assert first.confirmation is not None
    assert second.confirmation is not None
    assert second.confirmation["shown"] == other
    third = agent.resume(first.id)
    assert third.confirmation == second.confirmation
    late = agent.resume(first.id, Approval("approve"))
    assert (late.status, desk.done, desk.previews) == ("completed", ["a"], 4)


def test_a_decision_that_comes_while_a_preview_is_made_counts(store: TraceStore) -> None:
    desk = Desk()
    agent = desk.agent("pause", store)
    run = agent.ask("Tidy up a.")

    def preview(args: dict[str, Any]) -> dict[str, Any]:
        if args["path"] == "a":
            store.decide(run.id, "approve", args={"path": 7})
        return PATCH

    late = Desk(preview=preview)
    paused = late.agent("pause", store).resume(run.id)
    assert paused.confirmation is not None
    assert (paused.confirmation["args"], late.done) == ({"path": "7"}, [])


def test_the_event_loop_goes_on_while_a_preview_is_made_once_more() -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    made: list[str] = []

    async def now() -> str:
        return "on the loop"

    def preview(args: dict[str, Any]) -> dict[str, Any]:
        made.append(asyncio.run_coroutine_threadsafe(now(), loops[0]).result(20))
        return PATCH

    async def ask() -> Run:
        loops.append(asyncio.get_running_loop())
        return await desk.agent("all").aask("Tidy up a.")

    desk = Desk(preview=preview)
    assert asyncio.run(ask()).status == "completed"
    assert (made, desk.done) == (["on the loop"] * 2, ["a"])


@pytest.mark.parametrize(("kind", "named"), [("patch", "patch_id"), ("command", "cmd_id"), ("other", None)])
def test_where_nobody_is_there_the_model_is_told_what_waits_for_an_approval(kind: str, named: str | None) -> None:
    desk = Desk({"kind": kind, "id": "an_id", "text": "x"})
    run = desk.agent("never").ask("Tidy up a.")
    (step,) = run.steps
    told = {"error": "APPROVAL_REQUIRED", "blocked": {"approval_required": True},
            "approval": {"kind": kind if named else "tool"}, "feedback": None}  # fmt: skip
    told |= {named: "an_id"} if named else {}
    assert {**step.observation, "message": ""} == {**told, "message": ""}
    assert (step.error, desk.done, run.usage.tool_calls) == ("APPROVAL_REQUIRED", [], 0)


def test_a_tool_says_itself_what_a_rejection_is_worth(store: TraceStore, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[Any] = []

    def rejected(args: dict[str, Any], feedback: str | None) -> Any:
        asked.append((dict(args), feedback))
        args.clear()
        return {"approved": False, "feedback": feedback}

    def fails(args: dict[str, Any], feedback: str | None) -> Any:
        raise OSError("no disk")

    desk = Desk(rejected=rejected)
    run = desk.agent(lambda question: Approval("reject", "Not x."), store).ask("Tidy up a.")  # pyright: ignore[reportUnknownLambdaType]
    (step,) = run.steps
    assert (step.ok, step.error, step.args) == (True, None, {"path": "a"})
    assert (step.observation, asked) == ({"approved": False, "feedback": "Not x."}, [({"path": "a"}, "Not x.")])
    assert (step.latency_s, desk.done) == (None, [])
    (step,) = Desk(rejected=fails).agent(lambda question: Approval("reject", "No.")).ask("Tidy up a.").steps  # pyright: ignore[reportUnknownLambdaType]
    assert (step.error, step.observation["feedback"]) == ("APPROVAL_REJECTED", "No.")
    assert "rejected failed" in caplog.text
    (step,) = Desk().agent(lambda question: Approval("reject")).ask("Tidy up a.").steps  # pyright: ignore[reportUnknownLambdaType]
    assert (step.error, "feedback" in step.observation) == ("APPROVAL_REJECTED", False)


@pytest.mark.parametrize("options", [{"preview": "x"}, {"rejected": "x"}])
def test_what_a_tool_has_for_this_is_a_function(options: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=f"{next(iter(options))} must be a plain function"):
        Tool("t", "T.", SCHEMA, print, **options)


def test_a_derived_tool_has_it_too() -> None:
    @tool(requires_confirmation=True, preview=lambda args: {"text": args["path"]}, rejected=lambda args, why: "kept")
    def delete(path: str) -> str:
        """Delete a file."""
        return path

    agent = MicroAgent(tools=[delete], lm=ScriptedLM([call("delete", {"path": "a"}), text("Done.")]), rules=[])
    run = agent.ask("Delete a.")
    assert run.confirmation is not None
    assert run.confirmation["shown"] == {"text": "a"}
    assert agent.resume(run, Approval("reject")).steps[-1].observation == "kept"
