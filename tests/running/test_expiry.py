"""A question expires: then no decision about it is taken, and the run asks anew."""

import json
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, Tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import ApprovalExpired, ConfigurationError, NotWaiting
from micro_agent.models import load_settings
from micro_agent.run.questions import digest_of, expired, expiry
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
LONG = 86400.0


class Desk:
    """An agent whose tool wants confirmation, and what it deleted."""

    def __init__(
        self, ttl: float, confirm: Any = "pause", store: TraceStore | None = None, *, script: Any = None
    ) -> None:
        self.deleted: list[str] = []
        tool = Tool("delete", "Delete.", SCHEMA, self.delete, requires_confirmation=True, timeout_s=None)
        settings = load_settings().model_copy(update={"micro_agent_approval_ttl": ttl})
        lm = ScriptedLM(script or [call("delete", {"path": "a"}), text("Done.")])
        self.agent = MicroAgent(tools=[tool], lm=lm, rules=[], traces=store, confirm=confirm, settings=settings)

    def delete(self, path: str) -> None:
        """Note it."""
        self.deleted.append(path)


def asked(run: Run) -> dict[str, Any]:
    assert run.status == "confirmation_required"
    assert run.confirmation is not None
    return run.confirmation


def wait_for(question: dict[str, Any]) -> None:
    """Until it has expired."""
    while not expired(question):
        sleep(0.01)


def test_a_question_says_when_it_expires_and_can_be_decided_until_then(store: TraceStore) -> None:
    desk = Desk(LONG, store=store)
    question = asked(desk.agent.ask("Delete a."))
    left = datetime.fromisoformat(question["expires"]) - datetime.now(UTC)
    assert LONG - 60 < left.total_seconds() <= LONG
    assert question["sha256"] == digest_of(question)
    store.decide(question["run"], "approve")
    assert desk.agent.resume(question["run"]).status == "completed"
    assert desk.deleted == ["a"]


def test_an_expired_question_is_not_decided_and_asked_anew(store: TraceStore) -> None:
    desk = Desk(0.05, store=store)
    first = asked(desk.agent.ask("Delete a."))
    wait_for(first)
    for word in ("approve", "reject"):
        with pytest.raises(ApprovalExpired, match=r"expired at .*Z: resume the run, and it asks anew"):
            store.decide(first["run"], word)
    assert issubclass(ApprovalExpired, NotWaiting)
    patient = Desk(LONG, store=store, script=[text("Done.")])
    second = asked(patient.agent.resume(first["run"], Approval("approve")))  # too late
    assert second["expires"] > first["expires"]
    assert {**second, "expires": 0, "sha256": 0} == {**first, "expires": 0, "sha256": 0}
    with pytest.raises(NotWaiting, match="asks something else by now"):
        store.decide(first["run"], "approve", question=first["sha256"])
    store.decide(first["run"], "approve", question=second["sha256"])
    assert patient.agent.resume(first["run"]).status == "completed"
    assert patient.deleted == ["a"]


@pytest.mark.parametrize("stored", [True, False])
def test_an_approval_counts_until_its_question_expires_and_a_rejection_after_it(
    stored: bool, store: TraceStore
) -> None:
    kept = store if stored else None
    desk = Desk(0.2, store=kept)
    run = desk.agent.ask("Delete a.")
    first = asked(run)
    if stored:
        store.decide(run.id, "approve")
    wait_for(first)
    if stored:
        with pytest.raises(ApprovalExpired):
            store.decide(run.id, "reject")
    again = desk.agent.resume(run.id if stored else run, None if stored else Approval("approve"))
    second = asked(again)
    assert (second["sha256"] != first["sha256"], desk.deleted) == (True, [])
    if stored:
        store.decide(run.id, "reject", feedback="No.")
    wait_for(second)
    done = desk.agent.resume(run.id if stored else again, None if stored else Approval("reject", "No."))
    assert (done.status, done.steps[-1].error, desk.deleted) == ("completed", "APPROVAL_REJECTED", [])


def test_an_answer_that_comes_too_late_is_asked_for_once_more(store: TraceStore) -> None:
    seen: list[Question] = []

    def confirm(question: Question) -> Approval:
        seen.append(question)
        if len(seen) == 1:
            wait_for({"expires": question.expires})
        return Approval("approve")

    desk = Desk(1.0, confirm, store)
    assert desk.agent.ask("Delete a.").status == "completed"
    assert (len(seen), seen[0].sha256 != seen[1].sha256, desk.deleted) == (2, True, ["a"])


def test_a_question_of_an_older_version_does_not_expire(store: TraceStore) -> None:
    desk = Desk(LONG, store=store)
    run = desk.agent.ask("Delete a.")
    (journal,) = (store.state_dir / "runs").glob("*.journal")
    lines = journal.read_text().splitlines()
    line = next(number for number, one in enumerate(lines) if '"asked"' in one)
    old = json.loads(lines[line])
    del old["confirmation"]["expires"]
    old["confirmation"]["sha256"] = digest_of(old["confirmation"])
    journal.write_text("\n".join([*lines[:line], json.dumps(old), *lines[line + 1 :]]) + "\n")
    assert "expires" not in store.decide(run.id, "approve")
    assert desk.agent.resume(run.id).status == "completed"
    assert desk.deleted == ["a"]


def test_what_is_no_time_has_passed() -> None:
    assert not expired({})
    assert not expired({"expires": expiry(60)})
    for wrong in ("soon", 4, None, "2026-11-28", "9999-01-01T00:00:00+00:00"):
        assert expired({"expires": wrong})
    later = expiry(0.0, "2999-01-01T00:00:00.000Z")
    assert later == "2999-01-01T00:00:00.001Z"
    assert expiry(60, "soon") <= expiry(60)


def test_how_long_is_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load_settings().micro_agent_approval_ttl == LONG
    monkeypatch.setenv("MICRO_AGENT_APPROVAL_TTL", "1.5")
    assert load_settings().micro_agent_approval_ttl == 1.5
    for wrong in ("0", "-1", "inf", "nan", "1e10", "soon"):
        monkeypatch.setenv("MICRO_AGENT_APPROVAL_TTL", wrong)
        with pytest.raises(ConfigurationError, match=r"MICRO_AGENT_APPROVAL_TTL is .*; allowed: seconds, more than 0"):
            load_settings()


def test_a_call_that_was_interrupted_is_not_asked_about_nor_previewed(store: TraceStore) -> None:
    def confirm(question: Question) -> Approval:
        raise AssertionError("nobody is asked")

    desk = Desk(LONG, confirm, store, script=[text("Done.")])
    run = Desk(LONG, store=store).agent.ask("Delete a.")
    journal = store.resume(run.id)
    journal.settle(journal.run.confirmation or {}, "approve")
    journal.decided("approve")
    journal.tool_started(0, run.steps[0].call_id, "delete", {"path": "a"}, side_effects=True)
    journal.close()  # as after a kill
    done = desk.agent.resume(run.id)
    assert [step.error for step in done.steps] == [None, "INTERRUPTED"]  # and not APPROVAL_REQUIRED
    assert desk.deleted == []
