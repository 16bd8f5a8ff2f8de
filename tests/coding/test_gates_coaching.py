"""What the coach says on the way: warnings, tests given back to be fixed, the line of state; and what is recorded."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import hypothesis
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from micro_agent import Run, Step, configure_lm
from micro_agent.coding import CATEGORIES
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.coding.coaching.next_call import word_to_search
from micro_agent.coding.gates import gates_line
from micro_agent.replay import describe
from micro_agent.rules import AfterStep, Amend, BeforeFinish, BeforePlan
from micro_agent.run import POLICY_VIOLATION, SELF_CORRECTION, WARNING
from micro_agent.testing import ModelServer

from tests.coding.coached import (  # isort: skip
    CMD, CORRECTED, Done, EDIT, GREEN, LIST, PROPOSED, READ, RED, REJECTED, SEARCH, TASK, agent, made, script,
    warned,
)  # fmt: skip
from tests.each import each

FOUND_NOTHING = ("read_file", {"path": "no.py"}, {"error": "FILE_NOT_FOUND", "message": "no"})
OUTPUT = "Read the output above, and the code that it is about."
BROKEN = ("run_tests", {"test_cmd": "make"}, {"ok": False, "cmd": "make", "exit": 2, "passed": None, "failed": None})
NO_PROGRAM = ("run_tests", {"test_cmd": "pytst"}, {**BROKEN[2], "exit": 127})
STOPPED: Done = ("run_tests", {}, {"error": "CMD_TIMEOUT", "message": "…"})
FAILURES = [{"test": f"t{number}", "assertion": None, "place": None} for number in range(7)]
MANY = (*RED[:2], {**RED[2], "passed": None, "failed": 7, "failures": FAILURES})


ODD = (
    *RED[:2],
    {**RED[2], "failures": [{"test": "t", "place": "odd\nplace", "assertion": "a\nb" * 50 + " " * 60 + "c"}]},
)


def edit(text: str) -> Any:
    """An edit that is no repetition."""
    return EDIT[0], {"path": "sums.py", "replacement": text}, EDIT[2]


def said(run: Run, event: Any, **settings: Any) -> str | None:
    """What the coach says of an event."""
    found = [verdict for rule in coding_coach(CoachSettings(**settings)).rules if (verdict := rule(run, event))]
    if not found:
        return None
    (verdict,) = found
    assert not isinstance(verdict, Amend)
    return f"{type(verdict).__name__}: {verdict.text}"


def before_next(*steps: Any, **settings: Any) -> str | None:
    return said(made(*steps), BeforePlan(), **settings)


def after_last(*steps: Any, **settings: Any) -> str | None:
    run = made(*steps)
    return said(run, AfterStep(run.steps[-1]), **settings)


LOST = "Warn: No progress yet: 2 steps only looked around. Call rg_search next, then read a file."


@each("gates", ["block", "warn"])
def test_a_look_around_alone_is_told_once_and_once_more_with_a_search(gates: str) -> None:
    assert before_next(LIST, gates=gates) is None
    assert before_next(LIST, LIST, gates=gates) == LOST
    assert before_next(LIST, FOUND_NOTHING, gates=gates) == LOST
    assert before_next(LIST, SEARCH, gates=gates) is None
    told = warned(LOST.removeprefix("Warn: "))
    assert before_next(LIST, LIST, told, LIST, max_no_progress=4, gates=gates) is None
    stuck = before_next(LIST, LIST, told, LIST, LIST, max_no_progress=4, gates=gates)
    assert stuck == 'Warn: Still no progress: 4 steps only looked around. Call rg_search next with {"pattern": "add"}.'
    again = warned(stuck.removeprefix("Warn: "))
    assert before_next(LIST, LIST, told, LIST, LIST, again, LIST, max_no_progress=4, gates="block") is None
    assert before_next(LIST, LIST, gates="off") is None


def test_what_is_missing_is_told_from_the_fifth_step_on() -> None:
    five = [LIST, SEARCH, LIST, LIST, LIST]
    first = "Warn: Still missing: reading a file, a change (20 steps are left). "
    first += 'Call read_file next with {"path": "README.md"}.'
    assert before_next(*five, gates="warn") == first
    assert before_next(*five, gates="block") is None
    assert before_next(*five[:4], gates="warn") is None
    told = warned(first.removeprefix("Warn: "))
    assert before_next(*five, told, gates="warn") is None
    assert before_next(*five, told, LIST, LIST, gates="warn") is None
    second = before_next(*five, told, LIST, LIST, READ, gates="warn")
    assert second == (
        "Warn: Still missing: a change (17 steps are left). Call edit_file next, for sums.py.\n"
        "If no change is needed, answer again and say why."
    )
    assert "Call propose_patch next" in str(before_next(*five, told, LIST, LIST, READ, gates="warn", edits="patch"))
    assert before_next(*five, told, READ, gates="warn", warning_interval=1) is not None
    assert before_next(*five, READ, EDIT, GREEN, gates="warn") is None


def test_no_text_comes_twice_in_a_row() -> None:
    run = made(LIST, SEARCH, LIST, LIST, LIST)
    run.limits = {}
    first = said(run, BeforePlan(), gates="warn", warning_interval=1)
    assert first is not None
    assert "left" not in first
    steps = made(warned(first.removeprefix("Warn: ")), LIST).steps
    run.steps += steps
    assert said(run, BeforePlan(), gates="warn", warning_interval=1) is None


@each(
    ["task", "word"],
    [
        ("Fix the bug in `parse` when dates are negative", "parse"),
        ("Why does parse_date fail on a leap year sometimes?", "parse_date"),
        ("The getUserName function crashes", "getUserName"),
        ("Rename compute() everywhere, please", "compute"),
        ("Look into src/widgets/button.ts because something is broken", "widgets"),
        ("Make 'total' a decimal", "total"),
        ("Upgrade to utf8 soon", "utf8"),
        ("Please make everything faster", "everything"),
        ("Исправь функцию сложения", "сложения"),
        ("do it", None),
        ("12345 678", None),
        ("x" * 100, None),
    ],
)
def test_the_word_to_search_for_looks_like_code_or_is_rare(task: str, word: str | None) -> None:
    assert word_to_search(task) == word
    run = made()
    run.question = task
    told = said(run, BeforeFinish("Done.", frozenset({"rg_search"})))
    assert told is not None
    assert (f'{{"pattern": "{word}"}}' in told) == (word is not None)


FIX = """Hint: Fix these failing tests (round 1 of 3). 1 failed, 2 passed.
- tests/test_sums.py::test_add: assert 6 == 5 (tests/test_sums.py:5)
Call read_file next with {"path": "tests/test_sums.py", "start_line": 1, "end_line": 15}.
Then change the code and call run_tests again."""


def test_tests_that_fail_after_a_change_are_given_back() -> None:
    assert after_last(READ, EDIT, RED) == FIX
    assert after_last(READ, EDIT, RED, gates="off") == FIX
    assert after_last(READ, EDIT, RED, corrections=0) is None
    assert after_last(READ, RED) is None, "they failed before"
    assert after_last(READ, PROPOSED, RED) is None, "it is not applied"
    for last in (GREEN, CMD, EDIT, NO_PROGRAM, STOPPED):
        assert after_last(READ, EDIT, last) is None


def test_a_round_needs_a_new_change_and_rounds_are_bounded() -> None:
    once = [EDIT, RED, CORRECTED]
    assert after_last(*once, RED) is None
    assert after_last(*once, GREEN, RED) is None
    second = after_last(*once, EDIT, RED)
    assert second is not None
    assert "(round 2 of 3)" in second
    assert after_last(*once, EDIT, GREEN, EDIT, RED) == second
    stop = "Stop: The tests still fail after {} of correction: 1 failed, 2 passed."
    assert after_last(*once * 3, EDIT, RED) == stop.format("3 rounds")
    assert after_last(*once, EDIT, RED, corrections=1) == stop.format("1 round")
    other: Done = (SELF_CORRECTION, {}, "read_file failed 3 times with the same error.")
    assert "(round 1 of 3)" in str(after_last(FOUND_NOTHING, other, EDIT, RED))


@each(
    ["step", "lines"],
    [
        (BROKEN, ["The exit status is 2.", OUTPUT]),
        (MANY, ["7 failed.", "- t0", "- t1", "- t2", "- t3", "- t4", "- and 2 more", OUTPUT]),
        (ODD, ["1 failed, 2 passed.", f"- t: {'a b' * 50} (odd place)",
               'Call read_file next with {"path": "odd\\nplace"}.']),
    ],
    ids=lambda case: str(case[1][0]),
)  # fmt: skip
def test_what_is_told_of_failures_is_short(step: Any, lines: Sequence[str]) -> None:
    told = str(after_last(EDIT, step)).split("\n")
    assert told[0].endswith(lines[0])
    assert max(map(len, told)) < 320
    assert told[1:-1] == list(lines[1:])


@each(
    ["steps", "compact"],
    [
        ([], "Steps: 0/25"),
        ([SEARCH], "Steps: 1/25 | ✓ rg_search"),
        ([LIST, FOUND_NOTHING, SEARCH], "Steps: 3/25 | ✗ read_file | ✓ rg_search"),
        ([EDIT, RED, CORRECTED], "Steps: 2/25 | ✓ edit_file | ✗ run_tests"),
        ([REJECTED, (POLICY_VIOLATION, {}, "…")], "Steps: 2/25 | ✗ propose_patch"),
    ],
)
def test_the_compact_line(steps: list[Any], compact: str) -> None:
    assert coding_coach(CoachSettings()).state(made(*steps)) == compact
    assert coding_coach(CoachSettings(state="off")).state(made(*steps)) is None


def test_the_detailed_line() -> None:
    line = coding_coach(CoachSettings(state="detailed")).state
    assert line(made()) == (
        "Task: Fix `add` in sums.py | Steps: 0 taken, 25 left | Files read: none | Patches: 0 proposed, 0 applied"
    )
    others = [("read_file", {"path": path}, {"path": path}) for path in ("a.py", "b\n.py", "c.py", "d.py")]
    applied = ("apply_patch", {"patch_id": "patch_1"}, {"ok": True})
    run = made(*others, PROPOSED, applied, EDIT, RED)
    run.question, run.limits = "Fix\nit " + "all " * 100, {}
    task, *rest = line(run).split(" | ")  # type: ignore[union-attr]
    assert (task[:20], task[-1], len(task)) == ("Task: Fix it all all", "…", 166)
    assert rest == [
        "Steps: 8 taken", "Files read: b .py, c.py, d.py, and 1 more", "Patches: 1 proposed, 1 applied; edits: 1",
        "Last: ✓ apply_patch, ✓ edit_file, ✗ run_tests",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["native", "json"])
def test_what_the_coach_says_is_in_the_next_request(mode: str) -> None:
    steps = [LIST, (LIST[0], {"glob": "*.py"}, LIST[2]), SEARCH, READ, EDIT, RED, "Done."]
    with ModelServer(script(steps, mode)) as server:
        lm = configure_lm("openai", "scripted", server.openai_url)
        run = agent(steps, mode=mode, gates="warn", lm=lm, corrections=1).ask(TASK)
    assert run.answer == "Done."
    sent = [str(chat.messages) for chat in server.chats]
    words = [step for step in run.steps if step.tool in (WARNING, SELF_CORRECTION)]
    assert [step.tool for step in words] == [WARNING, WARNING, SELF_CORRECTION]
    first = [
        next(number for number, chat in enumerate(sent) if str(word.observation).split("\n")[0] in chat)
        for word in words
    ]
    assert first == [2, 5, 6]
    assert all(f"Steps: {number}/25" in chat for number, chat in enumerate(sent) if number)
    assert all(a.observation != b.observation for a, b in pairwise(words))


def test_a_run_that_cannot_be_corrected_ends_and_says_so() -> None:
    steps = [READ, edit("a"), RED, edit("b"), RED, edit("c"), RED]
    run = agent(steps, corrections=2).ask(TASK)
    assert (run.status, run.termination_reason) == ("stopped", "corrections")
    assert run.error is not None
    assert run.error["message"] == "The tests still fail after 2 rounds of correction: 1 failed, 2 passed."
    assert [step.tool for step in run.steps].count(SELF_CORRECTION) == 2
    assert str(run.error["message"]) in "\n".join(describe(run))


_ODD: list[Any] = [None, True, 7, "", "a\nb", "\ud800", [], [7], ["a.py"], [{"path": 3}], [{"test": []}], {"x": "y"}]
_VALUE = st.sampled_from(_ODD)
_KEYS = ["path", "files", "matches", "patch_id", "approved", "ok", "exit", "passed", "failed", "failures", "file_path"]
_NAMES = [name for names in CATEGORIES.values() for name in names] + [WARNING, POLICY_VIOLATION, SELF_CORRECTION]
_ARGS = st.dictionaries(st.sampled_from(["wants", "path", "patch_id", "test_cmd", "pattern"]), _VALUE, max_size=2)
_SEEN = st.dictionaries(st.sampled_from(_KEYS), _VALUE, max_size=4) | _VALUE
_STEP = st.builds(Step, tool=st.sampled_from(_NAMES), args=_ARGS, observation=_SEEN, ok=st.booleans())


_CHANGED = Step(tool=EDIT[0], args=EDIT[1], observation=EDIT[2])
_ODD_TESTS = Step(tool=RED[0], observation={"ok": False, "exit": [], "failures": [7, {"test": [], "place": 3}]})
_ODD_FILES = Step(tool=LIST[0], observation={"files": 7})


@hypothesis.settings(max_examples=25, deadline=None)
@example("Fix it", [_ODD_FILES, _CHANGED, _ODD_TESTS], True)
@example("", [_CHANGED, _ODD_FILES], False)
@given(st.text(max_size=40), st.lists(_STEP, max_size=6), st.booleans())
def test_nothing_in_a_run_breaks_the_coach(task: str, steps: list[Step], blocks: bool) -> None:
    run = Run(question=task, steps=steps, limits={"max_steps": 25}, mode="json" if blocks else "native")
    coach = coding_coach(CoachSettings(gates="block" if blocks else "warn", state="detailed"))
    assert "\n" not in str(coach.state(run))
    events = [BeforePlan(), BeforeFinish("Done.", frozenset(_NAMES))]
    events += [AfterStep(step) for step in steps[-1:] if step.is_tool]
    for event in events:
        for rule in coach.rules:
            json.dumps(getattr(rule(run, event), "text", None))
    assert gates_line(json.loads(json.dumps(coach.status(run))))
