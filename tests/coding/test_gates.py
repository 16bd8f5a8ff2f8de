"""What a run has to show before it is done: the status of its gates, with evidence, and the finish that is refused."""

import json
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, get_gate_status
from micro_agent.coding.coach import CoachSettings, coding_coach, gates_in
from micro_agent.errors import ConfigurationError
from micro_agent.models import load_settings
from micro_agent.rules import BeforeFinish, BeforePlan, Stop, Violation
from micro_agent.run import FINISH_ASKED, POLICY_VIOLATION
from micro_agent.testing import call, text
from tests.coding import coached

from tests.coding.coached import (  # isort: skip
    APPLIED, ASKED, CMD, EDIT, GREEN, LIST, MISFIT, NO_SANDBOX, PROPOSED, READ, RED, REFUSED, REJECTED, SEARCH, TASK,
    agent, made, warned,
)  # fmt: skip
from tests.each import each

TOOLS = frozenset({"rg_search", "read_file", "edit_file", "propose_patch", "apply_patch", "run_tests", "run_cmd"})
ALL, BUT_VERIFIED, UNDERSTOOD = "UCVR", "UC", "U"
FAILED = ("read_file", {"path": "no.py"}, {"error": "FILE_NOT_FOUND", "message": "no"})
NO_RG = ("rg_search", {"pattern": "x"}, {"error": "RG_MISSING", "message": "no rg"})
DENIED = ("run_cmd", {"cmd": "rm -rf /"}, {"error": "COMMAND_DENIED", "message": "no"})
NOT_MADE = ("edit_file", {"path": "sums.py"}, {"error": "NOT_FOUND_IN_FILE", "message": "no"})
NOTHING_RAN = (*GREEN[:2], {"ok": True, "cmd": "true", "exit": 0, "passed": 0, "failed": 0})
STILL_MISSING = warned("Still missing: a change.\nIf no change is needed, answer again and say why.")


def passed(run: Run) -> str:
    """The gates that pass, by their first letters."""
    status = get_gate_status(run)
    names = ("understanding", "change", "verification", "readiness")
    assert status.all_passed() == all(getattr(status, name) for name in names)
    assert json.loads(json.dumps(status.to_dict()))["all_passed"] == status.all_passed()
    assert {name for name in names if not getattr(status, name)} == set(status.evidence["missing"])
    return "".join(name[0].upper() for name in names if getattr(status, name))


@each(
    ["steps", "gates"],
    [
        ([], ""),
        ([LIST, LIST], ""),
        ([SEARCH], ""),
        ([READ], ""),
        ([SEARCH, FAILED], ""),
        ([(*LIST[:2], {"files": []}), (*SEARCH[:2], {"error": "RG_FAILED", "message": "no"}), READ, NOT_MADE], ""),
        ([SEARCH, READ], UNDERSTOOD),
        ([NO_RG, READ], UNDERSTOOD),
        ([READ, EDIT], BUT_VERIFIED),
        ([EDIT], "C"),
        ([READ, REJECTED], UNDERSTOOD),
        ([SEARCH, READ, GREEN], UNDERSTOOD),
        ([SEARCH, READ, EDIT, GREEN], ALL),
        ([SEARCH, READ, EDIT, RED], ALL),
        ([SEARCH, READ, EDIT, CMD], ALL),
        ([SEARCH, READ, GREEN, EDIT], BUT_VERIFIED),
        ([SEARCH, READ, EDIT, GREEN, EDIT], BUT_VERIFIED),
        ([SEARCH, READ, EDIT, NO_SANDBOX], BUT_VERIFIED),
        ([SEARCH, READ, EDIT, DENIED], BUT_VERIFIED),
        ([SEARCH, READ, PROPOSED], BUT_VERIFIED),
        ([SEARCH, READ, PROPOSED, GREEN], BUT_VERIFIED),
        ([SEARCH, READ, PROPOSED, GREEN, APPLIED], BUT_VERIFIED),
        ([SEARCH, READ, PROPOSED, APPLIED, GREEN], ALL),
        ([SEARCH, READ, EDIT, PROPOSED, GREEN], "UCV"),
        ([SEARCH, READ, PROPOSED, MISFIT, GREEN], UNDERSTOOD),
        ([SEARCH, READ, ("calculator", {}, 4), ("show_patch", {}, {"diff": ""})], UNDERSTOOD),
    ],
    ids=lambda case: " ".join(step[0] for step in case[0]),
)
def test_what_passes_by_the_steps_alone(steps: list[Any], gates: str) -> None:
    assert passed(made(*steps)) == gates


@each(
    ["steps", "gates"],
    [
        ([SEARCH, READ], UNDERSTOOD),
        ([SEARCH, READ, ASKED], ALL),
        ([SEARCH, READ, (FINISH_ASKED, {}, None), ASKED], ALL),
        ([SEARCH, READ, STILL_MISSING], ALL),
        ([SEARCH, READ, warned("Somebody else's words.")], UNDERSTOOD),
        ([SEARCH, READ, (POLICY_VIOLATION, {"wants": "calculator"}, "…")], UNDERSTOOD),
        ([SEARCH, READ, (POLICY_VIOLATION, {"wants": "read_file"}, "…")], UNDERSTOOD),
        ([SEARCH, ASKED], ""),
        ([SEARCH, READ, ASKED, REJECTED], ALL),
        ([SEARCH, READ, ASKED, NOT_MADE], UNDERSTOOD),
        ([SEARCH, READ, ASKED, MISFIT], UNDERSTOOD),
        ([SEARCH, READ, ASKED, NOT_MADE, ASKED], ALL),
        ([SEARCH, READ, ASKED, EDIT], BUT_VERIFIED),
        ([SEARCH, READ, EDIT, RED, ASKED], ALL),
        ([SEARCH, READ, PROPOSED, ASKED, MISFIT], UNDERSTOOD),
    ],
    ids=lambda case: " ".join(step[0] for step in case[0]),
)
def test_that_no_change_is_needed_counts_as_an_answer_to_that_question(steps: list[Any], gates: str) -> None:
    assert passed(made(*steps, answer="It is right as it is.")) == gates
    if EDIT not in steps:
        assert "C" not in passed(made(*steps)), "nothing was answered yet"


@each(
    ["steps", "gates"],
    [
        ([SEARCH, READ, EDIT, GREEN], ALL),
        ([SEARCH, READ, EDIT, GREEN, CMD], ALL),
        ([SEARCH, READ, EDIT, RED, GREEN], ALL),
        ([SEARCH, READ, EDIT, GREEN, RED], BUT_VERIFIED),
        ([SEARCH, READ, EDIT, CMD], BUT_VERIFIED),
        ([SEARCH, READ, EDIT, NOTHING_RAN], BUT_VERIFIED),
        ([SEARCH, READ, EDIT], BUT_VERIFIED),
        ([SEARCH, READ, ASKED], ALL),
    ],
    ids=lambda case: " ".join(step[0] for step in case[0]),
)
def test_green_means_that_tests_ran_and_passed(steps: list[Any], gates: str) -> None:
    assert passed(made(*steps, answer="Done.", coach={"kind": "coding", "require_green": True})) == gates


def test_the_evidence_names_the_steps() -> None:
    run = made(LIST, SEARCH, READ, PROPOSED, APPLIED, EDIT, RED)
    status = get_gate_status(run).to_dict()
    evidence = status.pop("evidence")
    assert status == {
        "understanding": True, "change": True, "verification": True, "readiness": True, "no_progress_yet": False,
        "files_read": 1, "search_used": True, "patches_proposed": 1, "verify_tool_used": True, "steps_taken": 7,
        "all_passed": True,
    }  # fmt: skip
    assert evidence == {
        "understanding": [
            {"step": 2, "tool": "rg_search", "pattern": "add"}, {"step": 3, "tool": "read_file", "path": "sums.py"},
        ],
        "change": [
            {"step": 5, "tool": "apply_patch", "patch_id": "patch_1", "files_changed": ["sums.py"]},
            {"step": 6, "tool": "edit_file", "path": "sums.py"},
        ],
        "verification": [
            {"step": 7, "tool": "run_tests", "cmd": "pytest -q", "exit": 1, "ok": False, "passed": 2, "failed": 1},
        ],
        "readiness": [],
        "missing": {},
    }  # fmt: skip
    waits = get_gate_status(made(SEARCH, READ, PROPOSED)).evidence
    assert waits["readiness"] == [
        {"waits": "patch_1", "step": 3, "tool": "propose_patch", "patch_id": "patch_1", "files": ["sums.py"],
         "approved": True},
    ]  # fmt: skip
    assert waits["missing"] == {"verification": "applying a change", "readiness": "applying the approved patch"}
    answered = get_gate_status(made(NO_RG, READ, ASKED, answer="It is right.")).evidence
    assert answered["understanding"][0] == {"step": 1, "tool": "rg_search", "pattern": "x", "error": "RG_MISSING"}
    assert answered["change"] == [{"step": 3, "asked": "whether a change is needed", "answer": "It is right."}]
    assert answered["verification"] == [{"note": "not asked for: no change was made"}]
    assert get_gate_status(made(SEARCH, READ, EDIT, NO_SANDBOX)).evidence["missing"] == {
        "verification": "a test run after the last change (SANDBOX_UNAVAILABLE)",
        "readiness": "the gates before it: verification",
    }


def test_a_result_counts_as_a_whole_where_the_model_was_shown_a_part() -> None:
    run = made(SEARCH, READ, EDIT, RED)
    last = run.steps[-1]
    last.observation, last.result = "cut …", last.observation
    assert get_gate_status(run).evidence["verification"][0]["failed"] == 1


def test_a_change_that_a_person_is_asked_about_is_proposed_and_not_ready() -> None:
    waits = made(SEARCH, READ, confirmation={"tool": "propose_patch", "args": {}})
    status = get_gate_status(waits)
    assert passed(waits) == "UC"
    assert (status.patches_proposed, status.evidence["missing"]["readiness"]) == (
        1, "a person's decision on the proposed patch",
    )  # fmt: skip
    assert not get_gate_status(made(confirmation={"tool": "edit_file", "args": {}})).no_progress_yet
    assert passed(made(SEARCH, READ, confirmation={"tool": "run_cmd", "args": {}})) == UNDERSTOOD
    assert passed(made(SEARCH, READ, EDIT, confirmation={"tool": "edit_file", "args": {}})) == BUT_VERIFIED


def test_what_was_read_in_earlier_turns_is_known() -> None:
    before, between = made(SEARCH, READ), made()
    run = made(ASKED, answer="It is right.", earlier=(before, between))
    assert passed(run) == ALL
    assert get_gate_status(run).evidence["understanding"] == [
        {"run": before.id, "step": 1, "tool": "rg_search", "pattern": "add"},
        {"run": before.id, "step": 2, "tool": "read_file", "path": "sums.py"},
    ]


def verdict(run: Run, event: Any = None, **settings: Any) -> Any:
    """What the first rule of a coach says of a finish, or of another event."""
    rule = coding_coach(CoachSettings(**settings)).rules[0]
    return rule(run, event or BeforeFinish("Done.", TOOLS))


@each(
    ["steps", "wants", "said"],
    [
        ([], "rg_search", 'Missing: a search of the code. Call rg_search next with {"pattern": "add"}.'),
        ([SEARCH], "read_file", 'Missing: reading a file. Call read_file next with {"path": "sums.py"}.'),
        ([SEARCH, FAILED], "read_file", 'Call read_file next with {"path": "sums.py"}.'),
        ([LIST, EDIT], "read_file", 'Call read_file next with {"path": "README.md"}.'),
        ([READ], "rg_search", "Missing: a search of the code."),
        ([(*LIST[:2], {"files": [7]}), EDIT], "read_file", "Missing: reading a file. Call read_file next."),
        ([EDIT], "read_file", "Missing: reading a file. Call read_file next."),
        ([SEARCH, READ], "edit_file",
         "Missing: a change. Call edit_file next, for sums.py.\nIf no change is needed, answer again and say why."),
        ([SEARCH, READ, PROPOSED], "apply_patch", 'Call apply_patch next with {"patch_id": "patch_1"}.'),
        ([SEARCH, READ, EDIT], "run_tests", "Missing: a test run after the last change. Call run_tests next."),
        ([GREEN, SEARCH, READ, EDIT], "run_tests", 'Call run_tests next with {"test_cmd": "pytest -q"}.'),
        ([SEARCH, READ, EDIT, NO_SANDBOX], "run_tests", "(SANDBOX_UNAVAILABLE)"),
    ],
    ids=lambda case: " ".join(step[0] for step in case[0]),
)  # fmt: skip
def test_a_finish_is_refused_with_what_is_missing_and_what_comes_next(steps: list[Any], wants: str, said: str) -> None:
    found = verdict(made(*steps))
    assert isinstance(found, Violation)
    assert (found.wants, found.at_once) == (wants, True)
    assert found.text.startswith("Not finished. Missing: ")
    assert said in found.text
    assert len(found.text) < 200
    assert verdict(made(*steps), gates="warn") is None
    assert not [rule for rule in coding_coach(CoachSettings(gates="off")).rules if rule(made(*steps), BeforeFinish(
        "Done.", TOOLS))]  # fmt: skip


@each(
    ["steps", "settings"],
    [
        ([SEARCH, READ, EDIT, GREEN], {"require_green": True}),
        ([SEARCH, READ, EDIT, RED], {}),
        ([SEARCH, READ, ASKED], {}),
        ([SEARCH, READ, EDIT, NO_SANDBOX, REFUSED], {}),
    ],
)
def test_a_finish_is_taken_once_nothing_is_missing_that_the_model_can_do(
    steps: list[Any], settings: dict[str, Any]
) -> None:
    assert verdict(made(*steps), **settings) is None


def test_green_is_asked_for_by_name_and_never_excused() -> None:
    red = verdict(made(SEARCH, READ, EDIT, RED), require_green=True)
    assert (red.wants, "Missing: tests that pass. Call edit_file next" in red.text) == ("edit_file", True)
    assert "answer again" not in red.text
    assert verdict(made(SEARCH, READ, EDIT, CMD), require_green=True).wants == "run_tests"
    assert verdict(made(SEARCH, READ, EDIT, NO_SANDBOX, REFUSED), require_green=True).wants == "run_tests"


def test_what_no_tool_is_there_for_is_not_asked_for() -> None:
    reading = BeforeFinish("Done.", frozenset({"rg_search", "read_file"}))
    assert verdict(made(SEARCH, READ), reading) is None
    assert verdict(made(SEARCH), reading).wants == "read_file"


def test_after_three_refusals_with_nothing_gained_the_run_ends() -> None:
    plan = BeforePlan()
    look = (POLICY_VIOLATION, {"wants": "read_file"}, "…")
    assert verdict(made(SEARCH, look, LIST, look), plan) is None
    stop = verdict(made(SEARCH, look, LIST, look, LIST, look), plan)
    assert isinstance(stop, Stop)
    assert (stop.reason, "missing: reading a file" in stop.text) == ("policy", True)
    assert verdict(made(SEARCH, look, LIST, look, LIST, look, LIST), plan) is None, "it is doing something"
    assert verdict(made(SEARCH, look, LIST, look, READ, ASKED), plan) is None
    other: coached.Done = (POLICY_VIOLATION, {"tool": "rg_search", "args": {}}, "…")
    assert verdict(made(SEARCH, look, LIST, look, LIST, other), plan) is None


MODES = ["native", "json"]


@pytest.mark.parametrize("mode", MODES)
def test_a_run_is_led_to_its_end(mode: str) -> None:
    run = agent(["Done.", SEARCH, "Done.", READ, "Done.", EDIT, "Done.", RED, "Done."], mode=mode).ask(TASK)
    refused = [step.args["wants"] for step in run.steps if step.tool == POLICY_VIOLATION]
    assert refused == ["rg_search", "read_file", "edit_file", "run_tests"]
    first = str(run.steps[0].observation)
    form = '{"tool": {"name": "rg_search", "args": {"pattern": "add"}}}'
    assert (form in first) == (mode == "json")
    assert (run.status, run.answer) == ("completed", "Done.")
    assert run.gates == get_gate_status(run).to_dict()
    assert get_gate_status(run).all_passed()


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_only_finishes_is_stopped(mode: str) -> None:
    straight = agent(["Done."] * 3, mode=mode).ask(TASK)
    round_about = agent(["Done.", LIST, "Done.", LIST, "Done."], mode=mode).ask(TASK)
    for run in (straight, round_about):
        assert (run.status, run.termination_reason) == ("stopped", "policy")
        assert [step.tool for step in run.steps if step.args.get("wants")] == [POLICY_VIOLATION] * 3
        assert run.gates is not None
        assert not run.gates["understanding"]


def test_a_question_without_a_change_is_answered_twice() -> None:
    run = agent([SEARCH, READ, "It adds.", "It adds; nothing has to change."]).ask("What does add do?")
    assert (run.answer, [step.tool for step in run.steps][2:]) == (
        "It adds; nothing has to change.", [POLICY_VIOLATION, FINISH_ASKED]
    )  # fmt: skip
    assert run.gates is not None
    assert run.gates["evidence"]["change"][0]["answer"] == run.answer


def test_an_announcement_is_no_explanation_also_where_texts_are_answers() -> None:
    go_on, then = text('{"done": false}'), ["Now I will change it.", "Let me change it."]
    run = agent([SEARCH, READ, *then, go_on, EDIT, GREEN, "It adds now."]).ask(TASK)
    assert (run.finish, run.answer) == ("text", "It adds now.")
    assert [step.args["answer"] for step in run.steps if "answer" in step.args] == then
    assert run.gates is not None
    assert run.gates["all_passed"]


def test_a_model_that_ignores_two_refusals_is_offered_the_missing_tool_alone() -> None:
    """Also where it has called another tool between, which is the same as to ignore it."""
    for between in ([], [LIST]):
        run = agent([SEARCH, READ, EDIT, "Done.", *between, "Done.", GREEN, "Done."]).ask(TASK)
        assert (run.status, run.gates and run.gates["all_passed"]) == ("completed", True)
        assert [call.settings.get("tool_choice") for call in run.calls[-2:]] == ["run_tests", None]


def test_typed_outputs_are_refused_in_the_same_way() -> None:
    done = call("submit", {"fixed": True})
    steps = [SEARCH, READ, done, EDIT, done, GREEN, done]
    run = agent(steps, signature="task -> fixed: bool").ask(TASK)
    assert [step.args.get("wants") for step in run.steps if step.tool == POLICY_VIOLATION] == ["edit_file", "run_tests"]
    assert (run.status, run.outputs) == ("completed", {"fixed": True})


def test_the_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gates_in(load_settings()) == {}
    monkeypatch.setenv("GATE_MAX_NO_PROGRESS_STEPS", "9")
    monkeypatch.setenv("GATE_WARNING_INTERVAL", "4")
    for said, gates in (
        ("warning", "warn"),
        ("Blocking", "block"),
        ("warn", "warn"),
        ("block", "block"),
        ("off", "off"),
    ):
        monkeypatch.setenv("GATE_MODE", said)
        found = gates_in(load_settings())
        assert found == {"gates": gates, "max_no_progress": 9, "warning_interval": 4}
        assert CoachSettings(**found).gates == gates
    monkeypatch.setenv("GATE_ENABLED", "false")
    monkeypatch.setenv("GATE_MODE", "blocking")
    assert gates_in(load_settings())["gates"] == "off"
    monkeypatch.setenv("GATE_ENABLED", "true")
    assert gates_in(load_settings())["gates"] == "block"
    monkeypatch.setenv("GATE_MODE", "sometimes")
    with pytest.raises(ConfigurationError, match="GATE_MODE is 'sometimes'; allowed: blocking"):
        load_settings()


@each(
    ["name", "value"],
    [("gates", "on"), ("state", ""), ("prompt", "long"), ("edits", None), ("corrections", -1), ("exemplars", True),
     ("warning_interval", 0), ("max_no_progress", "6")],
)  # fmt: skip
def test_settings_that_are_not_allowed_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} is .*; allowed: "):
        CoachSettings(**{name: value})


def test_the_agent_that_has_no_coach_has_no_gates() -> None:
    lm = coached.ScriptedLM(coached.script(["Done."]))
    assert MicroAgent(tools=[], lm=lm, resamples=0).ask(TASK).gates is None
