"""What is asked of a driver: questions to people, and what stands for a refused call."""

from micro_agent import Run, Tool
from micro_agent.effects import Approval, Question, question_of, refusal
from micro_agent.run import LMCall
from micro_agent.tools import Ready


def send(to: str) -> str:
    """Send."""
    return to


TOOL = Tool("send", "Send.", {"type": "object", "properties": {"to": {"type": "string"}}}, send)
RUN = Run(question="?", calls=[LMCall(reply={})])


def test_a_decision_belongs_to_exactly_one_call() -> None:
    asked = question_of(RUN, Ready(TOOL, {"to": "a"}, "id"), "Why?")
    assert {key: asked[key] for key in ("run", "call", "call_id", "tool", "args", "reason")} == {
        "run": RUN.id, "call": 0, "call_id": "id", "tool": "send", "args": {"to": "a"}, "reason": "Why?",
    }  # fmt: skip
    others = [
        question_of(RUN, Ready(TOOL, {"to": "b"}, "id"), "Why?"),
        question_of(RUN, Ready(TOOL, {"to": "a"}, "other"), "Why?"),
        question_of(Run(question="?", calls=RUN.calls), Ready(TOOL, {"to": "a"}, "id"), "Why?"),
        question_of(RUN, Ready(TOOL, {"to": "a"}, "id"), "Other words."),
    ]
    assert asked["sha256"] not in [other["sha256"] for other in others]


def test_arguments_that_stand_nowhere_are_part_of_what_is_decided() -> None:
    plain = question_of(RUN, Ready(TOOL, {"to": "a"}, "id"), "Why?")
    marked = question_of(RUN, Ready(TOOL, {"to": "a"}, "id"), "Why?", ["to"])
    assert "ungrounded" not in plain
    assert marked["ungrounded"] == ["to"]
    assert marked["sha256"] != plain["sha256"]
    assert (Question(**plain).ungrounded, Question(**marked).ungrounded) == ([], ["to"])


def test_a_question_that_nobody_can_decide_elsewhere_says_so() -> None:
    asked = question_of(RUN, Ready(TOOL, {"to": "a"}, "id"), "Why?")
    assert Question(**asked).elsewhere() is None


def test_what_the_model_is_told_of_a_refused_call() -> None:
    told = refusal(Approval("reject", "Ask Ann first."))
    assert (told.ok, told.error, told.latency_s) == (False, "APPROVAL_REJECTED", None)
    assert told.observation["feedback"] == "Ask Ann first."
    nobody = refusal(Approval("never"))
    assert (nobody.error, nobody.observation["error"]) == ("APPROVAL_REQUIRED", "APPROVAL_REQUIRED")
    assert nobody.observation == {
        "error": "APPROVAL_REQUIRED", "blocked": {"approval_required": True}, "approval": {"kind": "tool"},
        "message": "Nobody is there to confirm this call. Do something else, or answer.", "feedback": None,
    }  # fmt: skip
