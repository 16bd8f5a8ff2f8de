"""Arguments that a person changes before a call is made: validated, shown and asked about again, told to the model."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from micro_agent import MicroAgent, Run, Tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import AlreadyDecided, ConfigurationError
from micro_agent.replay import describe, fork, verify
from micro_agent.rules import BeforeTool, Event, Verdict, Violation
from micro_agent.run import EDITED
from micro_agent.testing import ScriptedLM, call, decision, final, text
from micro_agent.traces import TraceStore

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["path"],
}
Mode = Literal["native", "json"]
SCRIPTS: dict[Mode, Any] = {
    "native": [call("delete", {"path": "a", "times": 1}), text("Done.")],
    "json": [decision("delete", {"path": "a", "times": 1}), final("Done.")],
}


class Desk:
    """An agent whose tool has a preview and wants confirmation, and what it did."""

    def __init__(
        self,
        confirm: Any = "pause",
        store: TraceStore | None = None,
        mode: Mode = "native",
        rules: Any = (),
        script: Any = None,
    ) -> None:
        self.done: list[dict[str, Any]] = []
        tool = Tool(
            "delete", "Delete a file.", SCHEMA, self.delete, requires_confirmation=self.wants, preview=self.preview
        )
        self.lm = ScriptedLM(script or SCRIPTS[mode], mode=mode)
        self.agent = MicroAgent(tools=[tool], lm=self.lm, traces=store, confirm=confirm, mode=mode, rules=[*rules])

    def delete(self, **args: Any) -> str:
        """Note it."""
        self.done.append(args)
        return "deleted"

    def wants(self, args: dict[str, Any]) -> bool:
        """Only what begins with an a."""
        return args["path"].startswith("a")

    def preview(self, args: dict[str, Any]) -> dict[str, Any]:
        """A command."""
        return {"kind": "command", "id": "cmd_0123456789", "text": f"rm {args['path']}"}


def person(*answers: Approval) -> tuple[Callable[[Question], Approval], list[Question]]:
    """Somebody who gives these answers, and what was asked."""
    asked: list[Question] = []

    def confirm(question: Question) -> Approval:
        asked.append(question)
        return answers[min(len(asked), len(answers)) - 1]

    return confirm, asked


def same(run: Run, agent: MicroAgent) -> bool:
    (verdict,) = verify([run], agent)
    return verdict.outcome == "same"


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize("stored", [True, False])
def test_what_is_edited_is_asked_about_again_and_told_to_the_model(mode: Mode, stored: bool, store: TraceStore) -> None:
    confirm, asked = person(Approval("approve", args={"path": "b", "times": "2"}), Approval("approve"))
    desk = Desk(confirm, store if stored else None, mode)
    run = desk.agent.ask("Delete a, once.")
    first, second = asked
    assert (second.args, second.edited) == ({"path": "b", "times": 2}, {"path": "a", "times": 1})
    assert (second.shown or {})["text"] == "rm b"
    assert (first.edited, first.sha256 != second.sha256) == (None, True)
    assert "changed by a person" in second.reason
    assert second.ungrounded == []  # a person wrote it
    assert desk.done == [{"path": "b", "times": 2}]
    word, step = run.steps
    assert (word.tool, word.args) == (
        EDITED, {"tool": "delete", "args": {"path": "b", "times": 2}, "before": {"path": "a", "times": 1}},
    )  # fmt: skip
    assert (step.args, step.edited, step.ok) == ({"path": "b", "times": 2}, {"path": "a", "times": 1}, True)
    told = 'The user changed the arguments of this call of delete: path from "a" to "b", times from 1 to 2.'
    assert word.observation == told
    seen = str(desk.lm.messages(1)[-1]["content"])
    assert seen.endswith(f"Note: {told}")
    if stored:
        loaded = store.load(run.id)
        assert loaded.steps[1].edited == {"path": "a", "times": 1}
        assert any("✏️edited" in line for line in describe(loaded))
        assert same(loaded, Desk(mode=mode).agent)


def test_an_edited_call_can_be_edited_again_and_rejected(store: TraceStore) -> None:
    one, two, three = ({"path": name} for name in ("b", "c", "b"))
    confirm, asked = person(*(Approval("approve", args=args) for args in (one, two, three)), Approval("reject", "No."))
    desk = Desk(confirm, store)
    run = desk.agent.ask("Delete a, once.")
    assert [question.args["path"] for question in asked] == ["a", "b", "c", "b"]
    assert len({question.sha256 for question in asked}) == 4
    assert [step.args.get("before") for step in run.steps[:3]] == [
        {"path": "a", "times": 1},
        {"path": "b"},
        {"path": "c"},
    ]
    assert (run.steps[3].error, run.steps[3].edited, desk.done) == ("APPROVAL_REJECTED", {"path": "a", "times": 1}, [])
    assert "times from 1 to nothing" in run.steps[0].observation
    assert same(store.load(run.id), Desk().agent)


@pytest.mark.parametrize("stored", [True, False])
def test_arguments_that_do_not_fit_are_told_to_the_person_and_nothing_runs(stored: bool, store: TraceStore) -> None:
    wrong: Any = [{"times": 1}, {"path": "b", "when": "now"}, [1], {"path": {"x": 1}}]
    confirm, asked = person(*(Approval("approve", args=args) for args in wrong), Approval("approve"))
    desk = Desk(confirm, store if stored else None)
    run = desk.agent.ask("Delete a, once.")
    faults = [question.fault for question in asked]
    assert faults[0] is None
    assert all(faults[1:])
    assert ("path" in str(faults[1]), "when" in str(faults[2])) == (True, True)
    assert [question.args for question in asked] == [{"path": "a", "times": 1}] * 5
    assert len({question.sha256 for question in asked}) == 5
    assert sorted({str(question.expires) for question in asked}) == [question.expires for question in asked]
    assert desk.done == [{"path": "a", "times": 1}]
    assert [step.tool for step in run.steps] == ["delete"]  # the model is told nothing of it


@pytest.mark.parametrize("stored", [True, False])
def test_somebody_who_never_gives_what_fits_is_not_asked_for_ever(stored: bool, store: TraceStore) -> None:
    confirm, asked = person(Approval("approve", args={}))
    desk = Desk(confirm, store if stored else None)
    run = desk.agent.ask("Delete a, once.")
    assert (run.status, len(asked), desk.done) == ("confirmation_required", 20, [])
    assert len({question.sha256 for question in asked}) == 20
    assert run.confirmation is not None
    assert run.confirmation["fault"]


@pytest.mark.parametrize("stored", [True, False])
def test_somebody_who_edits_for_ever_is_not_asked_for_ever(stored: bool, store: TraceStore) -> None:
    asked: list[Question] = []

    def confirm(question: Question) -> Approval:
        asked.append(question)
        return Approval("approve", args={"path": "x" * len(asked)})

    desk = Desk(confirm, store if stored else None)
    run = desk.agent.ask("Delete a, once.")
    assert (run.status, len(asked), len(run.steps), desk.done) == ("confirmation_required", 21, 21, [])
    assert run.confirmation is not None
    assert run.confirmation["args"] == {"path": "x" * 20}
    word = Approval("reject")
    assert desk.agent.resume(run.id if stored else run, word).steps[-1].error == "APPROVAL_REJECTED"


def test_what_nobody_has_changed_stays_marked(store: TraceStore) -> None:
    confirm, asked = person(Approval("approve", args={"path": "archive", "times": 77}), Approval("approve"))
    desk = Desk(confirm, store, script=[call("delete", {"path": "attic", "times": 77}), text("Done.")])
    desk.agent.ask("Tidy up.")
    assert [question.ungrounded for question in asked] == [["path", "times"], ["times"]]


def test_an_approval_with_the_arguments_that_were_asked_about_is_a_plain_one(store: TraceStore) -> None:
    confirm, asked = person(Approval("approve", args={"path": "a", "times": "1"}))
    desk = Desk(confirm, store)
    run = desk.agent.ask("Delete a, once.")
    assert (len(asked), [step.tool for step in run.steps], desk.done) == (1, ["delete"], [{"path": "a", "times": 1}])
    confirm, _ = person(Approval("reject", "No.", args={"path": "b"}))
    (step,) = Desk(confirm, store).agent.ask("Delete a, once.").steps
    assert (step.error, step.edited) == ("APPROVAL_REJECTED", None)


@pytest.mark.parametrize("stored", [True, False])
def test_a_paused_run_asks_about_what_was_edited_elsewhere(stored: bool, store: TraceStore) -> None:
    desk = Desk("pause", store if stored else None)

    def go_on(run: Run, word: Approval | None) -> Run:
        if stored and word is not None:
            store.decide(run.id, "approve", feedback=word.feedback, args=word.args)
            word = None
        return asyncio.run(desk.agent.aresume(run.id if stored else run, word))

    run = go_on(desk.agent.ask("Delete a, once."), Approval("approve", args={"when": 1}))
    assert run.confirmation is not None
    assert (run.status, run.confirmation["args"]) == ("confirmation_required", {"path": "a", "times": 1})
    assert "path" in run.confirmation["fault"]
    again = go_on(run, None)
    assert again.confirmation == run.confirmation
    run = go_on(again, Approval("approve", args={"path": "b"}))
    assert run.confirmation is not None
    assert (run.status, run.confirmation["args"]) == ("confirmation_required", {"path": "b"})
    assert (run.confirmation["edited"], desk.done) == ({"path": "a", "times": 1}, [])
    again = go_on(run, None)
    assert again.confirmation == run.confirmation
    if stored:
        assert store.peek(run.id).confirmation == run.confirmation
        assert same(store.load(run.id), Desk().agent)
    done = go_on(again, Approval("approve"))
    assert (done.status, desk.done) == ("completed", [{"path": "b"}])
    if stored:
        assert same(store.load(done.id), Desk().agent)


def test_an_edit_that_was_made_first_elsewhere_counts_and_no_other_word(store: TraceStore) -> None:
    seen: list[Question] = []

    def confirm(question: Question) -> Approval:
        seen.append(question)
        if len(seen) == 1:
            TraceStore(store.directory, state_dir=store.state_dir).decide(question.run, "approve", args={"path": "b"})
            with pytest.raises(AlreadyDecided):
                store.decide(question.run, "approve", args={"path": "c"})
        return Approval("approve")

    desk = Desk(confirm, store)
    assert desk.agent.ask("Delete a, once.").status == "completed"
    assert [question.args["path"] for question in seen] == ["a", "b"]
    assert desk.done == [{"path": "b"}]


def test_rules_are_asked_about_what_was_edited(store: TraceStore) -> None:
    def keep_b(run: Run, event: Event) -> Verdict | None:
        forbidden = isinstance(event, BeforeTool) and event.args.get("path") == "b"
        return Violation("b is not to be deleted.") if forbidden else None

    confirm, asked = person(Approval("approve", args={"path": "b"}))
    desk = Desk(confirm, store, rules=[keep_b])
    run = desk.agent.ask("Delete a, once.")
    assert (len(asked), desk.done, run.steps[1].args) == (1, [], {"tool": "delete", "args": {"path": "b"}})
    assert run.steps[1].observation == "b is not to be deleted."


def test_long_values_are_cut_in_what_the_model_is_told() -> None:
    confirm, _ = person(Approval("approve", args={"path": "b" * 1000}), Approval("approve"))
    run = Desk(confirm).agent.ask("Delete a, once.")
    assert len(run.steps[0].observation) < 400
    assert run.steps[1].args == {"path": "b" * 1000}


@pytest.mark.parametrize(("decision", "args"), [("reject", {"path": "b"}), ("approve", [1]), ("approve", "b")])
def test_edited_arguments_are_an_object_and_approved(decision: Any, args: Any, store: TraceStore) -> None:
    run = Desk("pause", store).agent.ask("Delete a, once.")
    with pytest.raises(ConfigurationError, match="edited arguments are a JSON object, and go with an approval alone"):
        store.decide(run.id, decision, args=args)
    assert store.open_runs()[0].decision is None


def test_a_fork_behind_an_edit_asks_about_the_edited_call(store: TraceStore) -> None:
    confirm, _ = person(Approval("approve", args={"path": "b"}), Approval("approve"))
    run = Desk(confirm, store).agent.ask("Delete a, once.")
    desk = Desk("pause", store, script=[text("Done.")])
    forked = fork(store.load(run.id), 1, desk.agent)
    assert forked.confirmation is not None
    assert (forked.confirmation["args"], forked.confirmation["edited"]) == ({"path": "b"}, {"path": "a", "times": 1})
    assert desk.agent.resume(forked.id, Approval("approve")).status == "completed"
    assert desk.done == [{"path": "b"}]
