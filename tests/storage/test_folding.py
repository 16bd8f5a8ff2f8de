"""The fold of a journal: what is whole counts, what is damaged is named, what is unknown is not taken for undone."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from micro_agent.errors import StorageError
from micro_agent.files.masking import Mask, mask_of
from micro_agent.run import CONFIRMATION_REQUIRED, LMCall, Run, Step
from micro_agent.run.questions import digest_of
from micro_agent.storage.decisions import Decision
from micro_agent.storage.folding import Folded, fold, read_journal

QUESTION: dict[str, Any] = {"tool": "send", "args": {}, "call": 0, "call_id": "a"}
QUESTION["sha256"] = digest_of(QUESTION)
OTHER: dict[str, Any] = {**QUESTION, "call_id": "b"}


def call(text: str = "") -> LMCall:
    return LMCall(reply={"text": text}, input_tokens=3, output_tokens=2, cost_usd=0.5, latency_s=1.0)


def lines(*events: dict[str, Any], first: int = 2) -> list[bytes]:
    """A journal of one run: its start and these events, numbered."""
    start = {"event": "started", "n": 1, "format": 1, "run": Run(id="0" * 32, question="why?").model_dump()}
    numbered = [{"n": number, **event} for number, event in enumerate(events, first)]
    return [json.dumps(event).encode() + b"\n" for event in (start, *numbered)]


def reply(index: int = 0, text: str = "") -> dict[str, Any]:
    return {"event": "reply", "index": index, "call": call(text).model_dump()}


def step(
    tool: str = "send", number: int | None = 0, call_id: str | None = "a", error: str | None = None
) -> dict[str, Any]:
    made = Step(tool=tool, call=number, call_id=call_id, latency_s=0.5, ok=error is None, error=error)
    return {"event": "step", "step": made.model_dump()}


def tool_started(number: int = 0, call_id: str | None = "a") -> dict[str, Any]:
    return {
        "event": "tool_started",
        "call": number,
        "call_id": call_id,
        "tool": "send",
        "args": {},
        "side_effects": True,
    }


ASKED = {"event": "asked", "confirmation": QUESTION}
APPROVED = {"event": "decided", "decision": "approve", "feedback": "go"}
RESUMED = {"event": "resumed"}


def test_the_events_give_the_run_back() -> None:
    folded = fold(lines(reply(), tool_started(), step(), reply(1), RESUMED))
    assert [len(folded.run.calls), len(folded.run.steps), folded.events] == [2, 1, 6]
    usage = folded.run.usage
    assert (usage.lm_calls, usage.tool_calls, usage.input_tokens, usage.cost_usd) == (2, 1, 6, 1.0)
    assert usage.latency_s == 2.5
    assert (folded.run.status, folded.damage, folded.pending.started) == ("running", None, {})


def test_a_tool_without_its_step_is_under_way() -> None:
    assert fold(lines(reply(), tool_started())).pending.started == {(0, "a"): "send"}
    assert fold(lines(reply(), tool_started(), step(number=None, call_id=None))).pending.started != {}
    assert fold(lines(reply(), tool_started(), step(error="INTERRUPTED"))).pending.started == {}


def test_an_end_is_taken_over_and_stays() -> None:
    run = Run(id="0" * 32, question="why?", answer="so", status="completed", confirmation=QUESTION)
    end = {"event": "ended", "run": run.model_dump(exclude={"steps", "calls"})}
    folded = fold(lines(reply(), step(), end, RESUMED))
    assert folded.pending.ended
    assert folded.run == run.model_copy(update={"calls": [call()], "steps": [Step.model_validate(step()["step"])]})


def test_a_question_is_open_until_the_run_moves_on() -> None:
    pause = step(CONFIRMATION_REQUIRED)
    folded = fold(lines(reply(), ASKED, pause))
    assert folded.run.confirmation == folded.pending.confirmation == QUESTION
    for behind in (tool_started(), step(error="APPROVAL_REJECTED"), reply(1)):
        folded = fold(lines(reply(), ASKED, pause, behind))
        assert (folded.pending.confirmation, folded.run.confirmation, folded.pending.settled) == (None, None, 1)


def test_a_decision_holds_until_it_is_used() -> None:
    assert fold(lines(reply(), ASKED, APPROVED)).pending.decision == Decision("approve", "go")
    assert fold(lines(reply(), ASKED, APPROVED, RESUMED, ASKED)).pending.decision == Decision("approve", "go")
    assert fold(lines(reply(), ASKED, APPROVED, tool_started())).pending.decision is None
    other = {"event": "asked", "confirmation": {**OTHER, "sha256": digest_of(OTHER)}}
    assert fold(lines(reply(), ASKED, APPROVED, other)).pending.decision is None
    assert fold(lines(reply(), APPROVED, ASKED)).pending.decision is None


def test_every_cut_keeps_every_whole_event() -> None:
    data = b"".join(lines(reply(text="é\u2028"), ASKED, APPROVED, tool_started(), step(), reply(1)))
    first = data.index(b"\n")
    for end in range(first, len(data) + 1):
        cut = data[:end]
        complete = cut.count(b"\n") + (cut[-1:] == b"}" and data[end : end + 1] == b"\n")
        folded = fold(io.BytesIO(cut))
        assert folded.events == complete
        assert (folded.damage is None) == (cut[-1:] == b"\n" or complete > cut.count(b"\n")), end
        assert folded.unsure == 0


@pytest.mark.parametrize("end", [b"", b'{"event": "start', b"\0\0\0\0", b'{"event": "started", "format": 1}\n'])
def test_without_a_start_there_is_nothing_to_resume(end: bytes) -> None:
    with pytest.raises(StorageError, match=r"no event starts a run.*delete it"):
        fold([end])


def test_a_journal_of_a_newer_version_is_refused() -> None:
    with pytest.raises(StorageError, match="a newer micro-agent wrote it"):
        fold([lines()[0].replace(b'"format": 1', b'"format": 2')])


def test_what_is_left_of_a_cut_line_is_named_and_harmless() -> None:
    whole = lines(reply(), tool_started(), step())
    folded = fold([*whole[:2], b'{"event": "tool_sta\n', *whole[2:]])
    assert (folded.events, folded.unsure) == (4, 0)
    assert folded.damage is not None
    assert folded.damage.startswith("line 3: not readable: not JSON")


@pytest.mark.parametrize(
    "wrong",
    [
        b"{}", b'{"event": "strange", "n": 3}', b'{"event": "reply", "n": 3, "index": 1000000, "call": {"reply": {}}}',
        b'{"event": "step", "n": 3, "step": 5}', b'{"event": "asked", "n": 3, "confirmation": "?"}',
        b'{"event": "decided", "n": 3, "decision": "perhaps", "feedback": null}', b'{"event": "tool_started", "n": 3}',
        b'{"event": "tool_started", "n": 3, "call": [], "call_id": {}, "tool": 0}',
        b'{"event": "ended", "n": 3, "run": 1}',
    ],
)  # fmt: skip
def test_a_line_that_is_no_event_is_named(wrong: bytes) -> None:
    folded = fold([*lines(reply()), wrong + b"\n"])
    assert folded.damage is not None
    assert folded.damage.startswith("line 3: not an event (")
    assert (len(folded.run.calls), folded.run.steps) == (1, [])


def test_events_before_the_start_are_named() -> None:
    folded = fold([b'{"event": "resumed", "n": 1}\n', *lines()])
    assert folded.damage == "line 1: not an event ('resumed' before any start)"


def lost(number: int, *events: dict[str, Any]) -> Folded:
    """Fold a journal whose line of this number cannot be read."""
    whole = lines(*events)
    whole[number - 1] = b"\xff\n"
    return fold(whole)


def test_a_lost_reply_leaves_its_place_and_makes_totals_unknown() -> None:
    folded = lost(2, reply(), step(), reply(1), step(number=1, call_id="b"))
    assert [bool(call.error) for call in folded.run.calls] == [True, False]
    assert [step.call for step in folded.run.steps] == [0, 1]
    assert (folded.run.usage.lm_calls, folded.run.usage.input_tokens, folded.run.usage.cost_usd) == (2, None, None)
    assert folded.damage is not None
    assert folded.damage.endswith("line 3: events 2 to 2 before it are lost")


def test_after_lost_events_earlier_calls_are_not_taken_for_undone_but_later_ones_are() -> None:
    assert lost(3, reply(), tool_started(), RESUMED).unsure == 1
    assert lost(3, reply(), step(), reply(1), RESUMED).unsure == 1
    assert lost(4, reply(), reply(1), tool_started(1), RESUMED).unsure == 2


@pytest.mark.parametrize("tail", [b"\xff\n", b'{"event": "tool_start?d", "n": 3}\n'])
def test_a_lost_last_event_is_remembered(tail: bytes) -> None:
    damaged = [*lines(reply()), tail]
    folded = fold(damaged)
    assert (folded.unsure, folded.events) == (1, 3)
    resumed = json.dumps({**RESUMED, "n": folded.events + 1}).encode() + b"\n"
    assert fold([*damaged, resumed]).unsure == 1


def test_secrets_come_back_and_missing_ones_are_named() -> None:
    mask = mask_of({"API_KEY": "sk-canary-0123456789"})
    event = mask.encode({**reply(text="sk-canary-0123456789"), "n": 2}, note=True)
    assert b"canary" not in event
    assert fold([*lines(), event], mask=mask).run.calls[0].reply == {"text": "sk-canary-0123456789"}
    folded = fold([*lines(), event])
    assert folded.run.calls[0].reply == {"text": "[env:API_KEY]"}
    assert folded.damage == "line 2: [env:API_KEY] stays, it is not set today"
    foreign = json.dumps({**reply(text="?"), "n": 2, "masked": ["\x1b[2J\ud800"]}).encode() + b"\n"
    assert fold([*lines(), foreign]).damage == r"line 2: [env:\x1b[2J\ud800] stays, it is not set today"


def test_a_journal_that_cannot_be_opened_is_told_apart_from_none(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not a regular file"):
        read_journal(tmp_path, mask=Mask())
    with pytest.raises(FileNotFoundError):
        read_journal(tmp_path / "none", mask=Mask())
