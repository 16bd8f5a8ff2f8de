"""Two runs side by side."""

import json
from itertools import pairwise

import pytest

import micro_agent.replay
from micro_agent import Run, Step
from micro_agent.replay import diff
from micro_agent.run import Usage


def run(*steps: Step, answer: str | None = "Done.", **options: object) -> Run:
    status = {"status": "completed", "termination_reason": "final"} if answer else {"status": "stopped"}
    return Run.model_validate({"question": "Which?", "steps": steps, "answer": answer, **status, **options})


def step(tool: str, observation: object = "o", **args: object) -> Step:
    return Step(tool=tool, args=args, observation=observation, latency_s=0.1)


def changes(a: Run, b: Run) -> list[tuple[str, int | None, int | None]]:
    return [(pair.change, pair.a, pair.b) for pair in diff(a, b).steps]


def test_runs_with_the_same_steps_and_answer_are_the_same_whoever_answered() -> None:
    a = run(step("add", a=1), provider="openai", model="x", usage=Usage(lm_calls=2))
    b = run(step("add", a=1), provider="ollama", model="y", usage=Usage(lm_calls=3))
    found = diff(a, b)
    assert found.same
    assert found.as_dict()["same"] is True
    assert '  1. add {"a": 1} -> o' in list(found.lines())


def test_steps_are_aligned_by_tool_and_arguments() -> None:
    a = run(step("add", a=1), step("look"), step("add", a=2), step("end"))
    b = run(step("add", a=1), step("add", a=2), step("new"), step("end", observation="other"))
    assert changes(a, b) == [
        ("same", 1, 1), ("removed", 2, None), ("same", 3, 2), ("added", None, 3), ("changed", 4, 4),
    ]  # fmt: skip
    assert not diff(a, b).same
    lines = list(diff(a, b).lines())
    assert "- 2. look -> o" in lines
    assert '  3/2. add {"a": 2} -> o' in lines
    assert "+ 3. new -> o" in lines
    at = lines.index("~ 4. end")
    assert lines[at + 1 : at + 3] == ["      observation: o", "                 > other"]


def test_calls_of_one_tool_with_other_arguments_are_one_change() -> None:
    a, b = run(step("add", a=1), step("end")), run(step("add", a=5), step("end"))
    assert changes(a, b) == [("changed", 1, 1), ("same", 2, 2)]
    assert diff(a, b).steps[0].changed == ["args"]
    assert changes(run(step("add", a=1)), run(step("add", a=1.0))) == [("changed", 1, 1)]
    assert changes(run(step("add", a=1)), run(step("add", a=True))) == [("changed", 1, 1)]
    assert changes(run(step("add")), run(step("sub"))) == [("removed", 1, None), ("added", None, 1)]
    assert changes(run(), run()) == []


def test_question_answer_and_end_are_compared_too() -> None:
    assert not diff(run(), run(question="What?")).same
    assert not diff(run(), run(answer="No.")).same
    assert not diff(
        run(answer=None, termination_reason="policy"), run(answer=None, termination_reason="repetition")
    ).same
    lines = list(diff(run(), run(answer=None)).lines())
    assert "~ Answer: Done." in lines
    assert "        > none" in lines
    assert "~ Ended: completed (final)" in lines
    assert "       > stopped (under way)" in lines


def test_long_values_are_shortened_around_their_first_difference() -> None:
    text = "x" * 5000
    lines = list(diff(run(step("read", text + "a")), run(step("read", text + "b"))).lines())
    before, after = next((a, b) for a, b in pairwise(lines) if "observation" in a)
    assert len(before) < 150
    assert (before[-1], after[-1]) == ("a", "b")
    assert "…" in before


def test_a_fork_is_told_from_its_parent() -> None:
    a = run(step("add", a=1))
    b = run(step("add", a=1), parent=a.id)
    assert list(diff(a, b).lines())[1].endswith("(a fork of a)")
    assert list(diff(b, a).lines())[1].endswith("(a is its fork)")
    assert list(diff(a, run()).lines())[1].endswith("mode")


def test_usage_stands_side_by_side_and_what_is_unknown_is_said() -> None:
    lines = list(diff(run(usage=Usage(lm_calls=2, cost_usd=None)), run(usage=Usage(lm_calls=12))).lines())
    assert "  lm calls                   2          12" in lines
    assert "  cost usd             unknown           0" in lines


def test_a_program_gets_everything() -> None:
    a, b = run(step("add", a=1), usage=Usage(lm_calls=2)), run(answer=None)
    told = json.loads(json.dumps(diff(a, b).as_dict()))
    assert told["id"] == [a.id, b.id]
    assert (told["answer"], told["status"]) == (["Done.", None], ["completed", "stopped"])
    assert told["usage"]["lm_calls"] == [2, 0]
    step_a = {"tool": "add", "args": {"a": 1}, "observation": "o", "ok": True, "error": None}
    assert told["steps"] == [{"change": "removed", "number": [1, None], "changed": [], "step": [step_a, None]}]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = micro_agent.replay.no_such_name
