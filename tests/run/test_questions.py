"""What is confirmed is what is shown: a question that was changed is refused, and nothing of it is run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, Tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import NotWaiting
from micro_agent.run.questions import QuestionChanged, as_recorded, digest_of, verified
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
SCRIPT = [call("delete", {"path": "a"}), text("Done.")]


class Scene:
    """An agent whose tool has to be confirmed, and what it deleted."""

    def __init__(self, store: TraceStore | None, confirm: Any = "pause", script: Any = SCRIPT) -> None:
        self.deleted: list[str] = []
        tool = Tool("delete", "Delete.", SCHEMA, self.delete, requires_confirmation=True)
        self.agent = MicroAgent(tools=[tool], lm=ScriptedLM(script), rules=[], traces=store, confirm=confirm)

    def delete(self, path: str) -> None:
        """Note it."""
        self.deleted.append(path)


def journal_of(store: TraceStore) -> Path:
    (path,) = (store.state_dir / "runs").glob("*.journal")
    return path


def edit(path: Path, event: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the data of the last line of this event."""
    lines = path.read_text().splitlines()
    at = max(number for number, line in enumerate(lines) if json.loads(line).get("event") == event)
    data = json.loads(lines[at])
    change(data)
    lines[at] = json.dumps(data)
    path.write_text("\n".join(lines) + "\n")


def test_a_digest_is_over_all_that_is_shown_and_the_same_after_writing() -> None:
    question: dict[str, Any] = {"tool": "t", "args": {"x": float("nan"), "y": "\ud83d\ude00"}, "reason": "why"}
    question["sha256"] = digest_of(question)
    assert verified(json.loads(json.dumps({**question, "args": {"x": "NaN", "y": "\U0001f600"}}))) is not None
    for name in ("tool", "args", "reason"):
        with pytest.raises(QuestionChanged):
            verified({**question, name: "other"})
    with pytest.raises(QuestionChanged):
        verified({**question, "note": "harmless"})
    assert as_recorded(question) == question
    assert as_recorded({**question, "tool": "other"})["sha256"] is None


def test_an_edited_question_is_refused_everywhere_and_nothing_is_lost(store: TraceStore) -> None:
    scene = Scene(store)
    run = scene.agent.ask("Tidy up.")
    path = journal_of(store)
    before = path.read_bytes()
    edit(path, "asked", lambda line: line["confirmation"]["args"].update(path="harmless"))
    for refused in (
        lambda: store.decide(run.id, "approve"), lambda: store.peek(run.id), lambda: scene.agent.resume(run.id),
        lambda: scene.agent.resume(run.id, Approval("approve")),
    ):  # fmt: skip
        with pytest.raises(QuestionChanged, match=r"^line 3 of the journal of run \w+ asks something else .* resume$"):
            refused()
    (listed,) = store.open_runs()
    assert (listed.confirmation, listed.status) == (None, None)
    assert "undo the change, or remove that line" in str(listed.damage)
    assert scene.deleted == []
    path.write_bytes(b"".join(line for line in before.splitlines(keepends=True) if b'"asked"' not in line))
    again = scene.agent.resume(run.id)
    assert (again.status, scene.deleted) == ("confirmation_required", [])
    path.write_bytes(before)
    assert store.decide(run.id, "approve")["args"] == {"path": "a"}
    assert (scene.agent.resume(run.id).answer, scene.deleted) == ("Done.", ["a"])


def test_a_call_that_was_changed_after_it_was_shown_is_asked_about_anew(store: TraceStore) -> None:
    scene = Scene(store)
    run = scene.agent.ask("Tidy up.")
    store.decide(run.id, "approve")
    other = {"tool_calls": [{"name": "delete", "args": {"path": "other"}, "call_id": run.steps[-1].call_id}]}
    edit(journal_of(store), "reply", lambda line: line["call"].update(decision=other))
    again = scene.agent.resume(run.id)
    assert (again.status, scene.deleted) == ("confirmation_required", [])
    assert again.confirmation is not None
    assert again.confirmation["args"] == {"path": "other"}


@pytest.mark.parametrize("stored", [True, False])
def test_who_is_asked_cannot_change_the_call(store: TraceStore, stored: bool) -> None:
    def confirm(question: Question) -> Approval:
        question.args["path"] = "other"
        return Approval("approve")

    scene = Scene(store if stored else None, confirm)
    run = scene.agent.ask("Tidy up.")
    assert (run.status, run.termination_reason, scene.deleted) == ("failed", "storage_error", [])
    assert "the call of delete is not the one that was approved, and it was not made" in str(run.error)
    assert len(store.open_runs()) == stored


def test_a_decision_given_beforehand_counts_for_the_open_question_alone(store: TraceStore) -> None:
    scene = Scene(None)
    run = scene.agent.ask("Tidy up.")
    assert run.confirmation is not None
    shown = run.model_copy(update={"confirmation": {**run.confirmation, "args": {"path": "harmless"}}})
    with pytest.raises(QuestionChanged, match="something of it was changed"):
        scene.agent.resume(shown, Approval("approve"))
    other: dict[str, Any] = {**run.confirmation, "args": {"path": "harmless"}}
    other["sha256"] = digest_of(other)
    again = scene.agent.resume(run.model_copy(update={"confirmation": other}), Approval("approve"))
    assert (again.status, scene.deleted) == ("confirmation_required", [])
    assert scene.agent.resume(run, Approval("approve")).answer == "Done."
    begun = store.start(Run(question="?", provider="openai", model="m", mode="native"))
    begun.close()
    with pytest.raises(NotWaiting, match="asks nothing now"):
        Scene(store).agent.resume(begun.run.id, Approval("approve"))


def test_a_question_whose_secret_is_gone_is_not_asked_with_its_placeholder(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISK_PASSWORD", "sesame-open-1")
    scene = Scene(store, script=[call("delete", {"path": "sesame-open-1"}), text("Done.")])
    run = scene.agent.ask("Tidy up.")
    assert store.load(run.id).confirmation == {
        **(run.confirmation or {}), "args": {"path": "[env:DISK_PASSWORD]"}, "sha256": None,
    }  # fmt: skip
    monkeypatch.delenv("DISK_PASSWORD")
    with pytest.raises(QuestionChanged, match=r"set \[env:DISK_PASSWORD\] as when it was asked"):
        store.decide(run.id, "approve")
    monkeypatch.setenv("DISK_PASSWORD", "another-sesame")
    with pytest.raises(QuestionChanged, match="set the secrets in it as when it was asked"):
        store.decide(run.id, "approve")
    monkeypatch.setenv("DISK_PASSWORD", "sesame-open-1")
    store.decide(run.id, "approve")
    assert (scene.agent.resume(run.id).status, scene.deleted) == ("completed", ["sesame-open-1"])


def test_a_record_gives_no_digest_beside_what_it_is_not_of(store: TraceStore) -> None:
    run = Scene(store).agent.ask("Tidy up.")
    path = store.path(run.id)
    path.write_text(path.read_text().replace('"args":{"path":"a"},"reason"', '"args":{"path":"harmless"},"reason"'))
    confirmation = store.load(run.id).confirmation
    assert confirmation is not None
    assert (confirmation["args"], confirmation["sha256"]) == ({"path": "harmless"}, None)


def test_what_a_journal_says_at_its_start_is_no_question(store: TraceStore) -> None:
    store.start(Run(id="0" * 32, question="?")).close()
    edit(journal_of(store), "started", lambda line: line["run"].update(confirmation={"tool": "x", "sha256": "0" * 64}))
    assert store.peek("0" * 32).confirmation is None
