"""Plans that are run: in order, one task at a time, with what comes of failing tests, approvals and kills."""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent
from micro_agent.cancel import Cancel
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.effects import Approval
from micro_agent.errors import ConfigurationError, RunBusy, StorageError
from micro_agent.plans import Plan, PlanState, PlanTask, run_plan, state_path
from micro_agent.plans.keeping import held
from micro_agent.run import Run, Step
from micro_agent.testing import Received, Reply, ScriptedLM, call, error, text
from tests.each import each
from tests.plans.playing import Model, agent_of, on_disk, store_of

GOOD = call("edit_file", {"path": "f.py", "target": "bad", "replacement": "good"})
BAD = call("edit_file", {"path": "f.py", "target": "good", "replacement": "bad"})
TEST = call("run_tests", {})
CHAIN = Plan(
    goal="All is well.",
    tasks=[
        PlanTask(id="last", task="Last.", depends_on=["first", "second"]),
        PlanTask(id="first", task="First."),
        PlanTask(id="second", task="Second.", depends_on=["first"], verify="pytest -q f.py"),
    ],
)
ALONE = Plan(tasks=[PlanTask(id="a", task="Do a."), PlanTask(id="b", task="Do b.")])


def of(*tasks: str | tuple[str, str]) -> Plan:
    """A plan of tasks, some of which depend on one other."""
    pairs = [(one, None) if isinstance(one, str) else one for one in tasks]
    return Plan(
        tasks=[PlanTask(id=name, task=f"Do {name}.", depends_on=[other] if other else []) for name, other in pairs]
    )


def test_tasks_run_in_the_order_of_their_dependencies_and_know_what_came_before(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("good")
    model = Model({
        "First.": [BAD, GOOD, TEST, text("It is good.")],
        "Second.": [call("run_tests", {"test_cmd": "pytest -q f.py"}), text("Tested.")],
        "Last.": [text("All is done.")],
    })  # fmt: skip
    events, steps = list[Mapping[str, Any]](), list[Step]()
    state = run_plan(CHAIN, agent_of(tmp_path, model), on_event=events.append, on_step=steps.append)
    assert (state.status, state.task_status) == ("completed", dict.fromkeys(["last", "first", "second"], "completed"))
    first, second, last = model.questions
    goal = "\n\nThis is one task of a larger work; do only this task. The whole: All is well."
    assert first == f"First.{goal}"
    assert second == (
        f"Second.{goal}\n\nThe task is done when these tests pass; run them after your last change: pytest -q f.py"
        "\n\nWhat the tasks before it gave stands below."
        "\n\n<stdin>\n[first] It is good. (changed: f.py)\n</stdin>"
    )
    assert last.endswith("<stdin>\n[first] It is good. (changed: f.py)\n[second] Tested.\n</stdin>")
    ids = [state.results[name]["run_id"] for name in ("first", "second", "last")]
    told = [
        {"event": event, "task": name, **({"status": "completed"} if event == "task_complete" else {}), "run_id": ident}
        for name, ident in zip(("first", "second", "last"), ids, strict=True)
        for event in ("task_begun", "task_complete")
    ]
    assert events == told == state.events
    assert [step.tool for step in steps] == ["edit_file", "edit_file", "run_tests", "run_tests"]
    assert sorted(store_of(tmp_path).ids()) == sorted(ids)


def test_the_state_is_a_file_for_this_user_alone_and_a_plan_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    model = Model({})
    path = state_path(ALONE, store_of(tmp_path))
    done = run_plan(ALONE, agent_of(tmp_path, model))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(on_disk(path)) == ["task_status", "results", "environment", "metadata"]
    loaded = PlanState.load(path)
    assert (loaded, loaded.status) == (done, "completed")
    assert (loaded.environment["provider"], loaded.environment["repository"]) == ("scripted", None)
    asked = len(model.asked)
    assert run_plan(ALONE, agent_of(tmp_path, model)) == done
    assert len(model.asked) == asked
    assert [path.name for path in path.parent.iterdir() if path.suffix == ".tmp"] == []


def test_a_run_is_on_record_before_it_begins(tmp_path: Path) -> None:
    path, seen = tmp_path / "s.json", list[Any]()

    def looks(request: Received) -> Reply:
        seen.append(on_disk(path))
        return text("Done.")

    done = run_plan(ALONE, agent_of(tmp_path, looks), state=path)
    assert [state["task_status"] for state in seen] == [
        {"a": "running", "b": "pending"}, {"a": "completed", "b": "running"},
    ]  # fmt: skip
    assert [seen[0]["results"]["a"], seen[1]["results"]["b"]] == [
        {"run_id": done.results["a"]["run_id"]}, {"run_id": done.results["b"]["run_id"]},
    ]  # fmt: skip


def test_secrets_are_masked_in_the_state_and_in_what_the_next_task_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    model = Model({"Do a.": [text("The key is hunter2hunter2.")]})
    run_plan(of("a", ("b", "a")), agent_of(tmp_path, model), state=tmp_path / "s.json")
    assert "hunter2" not in (tmp_path / "s.json").read_text()
    assert "[a] The key is [env:SOME_API_KEY]." in model.questions[1]


def test_failing_tests_after_a_change_become_a_task_of_their_own(tmp_path: Path) -> None:
    model = Model({
        "Do a.": [BAD, TEST, text("Done, I think.")],
        "Tests fail": [GOOD, TEST, text("Fixed.")],
        "Do b.": [text("Also done.")],
    })  # fmt: skip
    (tmp_path / "f.py").write_text("good")
    state = run_plan(of("a", ("b", "a")), agent_of(tmp_path, model))
    assert state.status == "completed"
    assert state.task_status == {"a": "needs_fix", "b": "completed", "fix_a": "completed"}
    assert model.questions[1] == (
        "Tests fail after a change. Find the cause, change the code until they pass, and run them again. Change a test "
        "only where it is wrong.\n\nThe change was made for this task: Do a.\n\nRun the tests with: pytest -q\n\n"
        "What fails stands below.\n\n"
        "<stdin>\n- test_f.py::test_it: assert 'bad' == 'good' (test_f.py:3)\n</stdin>"
    )
    assert model.questions[2].endswith("[a] Done, I think. (changed: f.py)\n[fix_a] Fixed. (changed: f.py)\n</stdin>")
    assert [(event["event"], event.get("task", event.get("failed_task"))) for event in state.events] == [
        ("task_begun", "a"), ("task_complete", "a"), ("self_correction_triggered", "a"),
        ("task_begun", "fix_a"), ("task_complete", "fix_a"), ("task_begun", "b"), ("task_complete", "b"),
    ]  # fmt: skip
    assert state.events[2] == {"event": "self_correction_triggered", "failed_task": "a", "fix_task": "fix_a"}
    (fix,) = state.fixes
    assert (fix["id"], fix["fixes"], fix["depends_on"]) == ("fix_a", "a", ["a"])


def test_corrections_end_after_three_rounds_and_what_depends_on_them_is_blocked(tmp_path: Path) -> None:
    model = Model({"Do a.": [BAD, TEST, text("Done.")], "Tests fail": [TEST, text("I cannot.")]})
    model.replies = {**model.replies, "The tests have": [text("No.")]}
    (tmp_path / "f.py").write_text("good")
    plan = of("a", ("b", "a"), ("c", "b"), "d")
    state = run_plan(plan, agent_of(tmp_path, model))
    assert state.status == "failed"
    assert state.task_status == {
        "a": "needs_fix", "b": "blocked", "c": "blocked", "d": "completed",
        "fix_a": "needs_fix", "fix_a_2": "needs_fix", "fix_a_3": "failed",
    }  # fmt: skip
    assert state.results["fix_a_3"]["reason"] == "tests_failing"
    assert [fix["depends_on"] for fix in state.fixes] == [["a"], ["fix_a"], ["fix_a_2"]]
    assert [event["task"] for event in state.events if event.get("status") == "blocked"] == ["b", "c"]
    # By hand it is mended, and what went wrong is done again.
    (tmp_path / "f.py").write_text("good")
    again = run_plan(plan, agent_of(tmp_path, model), retry=True)
    assert (again.status, again.task_status["fix_a_3"], again.task_status["c"]) == (
        "completed",
        "completed",
        "completed",
    )
    assert again.results["fix_a_3"]["earlier"] == [state.results["fix_a_3"]["run_id"]]
    assert again.results["fix_a_3"]["run_id"] != state.results["fix_a_3"]["run_id"]


@each(
    ("replies", "verify", "status", "failing"),
    [
        ([TEST, text("They fail.")], None, "completed", None),  # nothing was changed
        ([GOOD, TEST, text("x")], None, "needs_fix", "g.py"),
        ([TEST, GOOD, text("x")], None, "completed", None),  # nobody knows
        ([TEST, GOOD, text("x")], "pytest -q", "needs_fix", None),  # and somebody wants to know
        ([TEST, text("x")], "pytest -q", "needs_fix", "g.py"),
        ([TEST, text("x")], "pytest -q g.py", "needs_fix", None),  # another command than this
        ([GOOD, call("run_tests", {"test_cmd": "none"}), text("x")], None, "completed", None),  # no test has failed
        ([GOOD, call("run_tests", {"test_cmd": "none"}), text("x")], "none", "needs_fix", "no such program"),
        ([GOOD, call("run_tests", {"test_cmd": "plain"}), text("x")], None, "needs_fix", "1 failed"),
        ([GOOD, TEST, error(400, "no"), error(400, "no")], None, "failed", None),
        ([GOOD, TEST, *[call("run_tests", {"test_cmd": f"pytest {n}"}) for n in range(5)]], None, "needs_fix", "g.py"),
    ],
    ids=lambda case: f"{len(case[0])} {case[1:]}",
)
def test_what_counts_as_failing(
    replies: list[Any], verify: str | None, status: str, failing: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("plan")
    (folder / "g.py").write_text("bad")
    plan = Plan(tasks=[PlanTask(id="a", task="Do a.", verify=verify)])
    state = run_plan(plan, agent_of(folder, Model({"Do a.": replies})))
    assert state.task_status["a"] == status
    assert failing is None or failing in str(state.results["a"]["failing"])
    if status == "needs_fix" and failing is None:
        assert state.fixes[0]["task"].startswith("The tests have to pass, and nobody ran them after the last change.")
        assert state.fixes[0]["task"].endswith(f"Run the tests with: {verify}")
    elif failing == "1 failed":
        assert state.fixes[0]["task"].endswith("<stdin>\n1 failed\n</stdin>")


def test_what_is_told_of_many_failing_tests_and_long_answers_is_short(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number:02}.py").write_text("bad")
    plan = Plan(tasks=[PlanTask(id="a", task="Do a. " + "x" * 1000), PlanTask(id="b", task="b", depends_on=["a"])])
    fixing = [call("edit_file", {"path": f"f{n:02}.py", "target": "bad", "replacement": "good"}) for n in range(30)]
    model = Model({
        "Do a.": [GOOD, TEST, text("y" * 9000)],
        "Tests fail": [*fixing, TEST, text("Fixed.")],
    })  # fmt: skip
    agent = agent_of(tmp_path, model, limits=None)
    state = run_plan(plan, agent)
    assert state.task_status["fix_a"] == "stopped"  # at the limit of steps, with tests that nobody ran
    question = model.questions[1]
    assert question.endswith("- and 10 more\n</stdin>")
    assert len(question) < 3000


def test_what_fails_or_is_stopped_stops_its_dependants_and_nothing_else(tmp_path: Path) -> None:
    model = Model({"Do a.": [error(400, "no"), error(400, "no")], "Do c.": [TEST] * 9})
    plan = of("a", ("b", "a"), "c", ("d", "c"), "e")
    state = run_plan(plan, agent_of(tmp_path, model))
    assert state.status == "failed"
    assert state.task_status == {"a": "failed", "b": "blocked", "c": "stopped", "d": "blocked", "e": "completed"}
    assert [(event["task"], event["run_id"]) for event in state.events if event.get("status") == "blocked"] == [
        ("b", None), ("d", None),
    ]  # fmt: skip
    model.replies = {"Do c.": [TEST] * 9}
    state = run_plan(plan, agent_of(tmp_path, model), retry=True)
    assert state.status == "stopped"
    assert state.task_status == {"a": "completed", "b": "completed", "c": "stopped", "d": "blocked", "e": "completed"}


def paused(folder: Path, model: Model) -> tuple[PlanState, str]:
    """A plan whose task ``a`` waits for an approval, and the id of that run."""
    (folder / "f.py").write_text("bad")
    state = run_plan(of("a", ("b", "a")), agent_of(folder, model, asks=True))
    assert (state.status, state.task_status) == ("paused", {"a": "paused", "b": "pending"})
    assert (folder / "f.py").read_text() == "bad"
    return state, state.results["a"]["run_id"]


def test_a_run_that_waits_for_an_approval_is_gone_on_with_and_not_begun_again(tmp_path: Path) -> None:
    model = Model({"Do a.": [GOOD, TEST, text("Done.")]})
    state, run_id = paused(tmp_path, model)
    assert run_plan(of("a", ("b", "a")), agent_of(tmp_path, model, asks=True)) == state  # nobody has decided
    store_of(tmp_path).decide(run_id, "approve")
    asked = len(model.asked)
    state = run_plan(of("a", ("b", "a")), agent_of(tmp_path, model, asks=True))
    assert (state.status, state.results["a"]["run_id"]) == ("completed", run_id)
    assert len(model.asked) == asked + 3
    assert (tmp_path / "f.py").read_text() == "good"


def test_a_run_of_a_plan_that_somebody_resumed_elsewhere_counts(tmp_path: Path) -> None:
    model = Model({"Do a.": [GOOD, text("Done.")]})
    _, run_id = paused(tmp_path, model)
    agent_of(tmp_path, model, asks=True).resume(run_id, Approval("reject"))
    state = run_plan(of("a", ("b", "a")), agent_of(tmp_path, model, asks=True))
    assert (state.status, state.results["a"]["files"]) == ("completed", [])


def begun(folder: Path, run_id: str = "a" * 32) -> Path:
    """The state of a plan whose process was killed right before, or while, the run of ``a`` was begun."""
    state = PlanState.of(of("a"))
    state.task_status["a"], state.results["a"] = "running", {"run_id": run_id}
    state.save(folder / "s.json")
    return store_of(folder).state_dir / "runs" / f"{run_id}.journal"


def test_a_run_that_is_on_record_and_was_never_begun_is_begun_under_its_id(tmp_path: Path) -> None:
    begun(tmp_path)
    state = run_plan(of("a"), agent_of(tmp_path, Model({})), state=tmp_path / "s.json")
    assert (state.status, state.results["a"]["run_id"]) == ("completed", "a" * 32)
    assert list(store_of(tmp_path).ids()) == ["a" * 32]


@each("torn", [b"", b'{"event":"started","n":1,'])
def test_so_is_one_whose_first_event_is_not_whole(torn: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("plan")
    journal = begun(folder)
    journal.parent.mkdir(parents=True)
    journal.write_bytes(torn)
    state = run_plan(of("a"), agent_of(folder, Model({})), state=folder / "s.json")
    assert (state.status, list(store_of(folder).ids()), journal.exists()) == ("completed", ["a" * 32], False)


def test_a_damaged_journal_is_not_begun_again(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"{}\n")
    with pytest.raises(StorageError, match="no event starts a run"):
        run_plan(of("a"), agent_of(tmp_path, Model({})), state=tmp_path / "s.json")
    assert journal.read_bytes() == b"{}\n"


def test_a_run_whose_journal_is_gone_has_failed(tmp_path: Path) -> None:
    begun(tmp_path)
    store_of(tmp_path).append(Run(id="a" * 32, question="Do a.", status="confirmation_required"))
    state = run_plan(of("a"), agent_of(tmp_path, Model({})), state=tmp_path / "s.json")
    assert (state.status, state.results["a"]["reason"]) == ("failed", "journal_lost")


def test_a_run_that_ended_before_its_end_was_noted_is_noted(tmp_path: Path) -> None:
    begun(tmp_path)
    store_of(tmp_path).append(Run(id="a" * 32, question="Do a.", status="completed", answer="Done."))
    model = Model({})
    state = run_plan(of("a"), agent_of(tmp_path, model), state=tmp_path / "s.json")
    assert (state.status, state.results["a"]["answer"], model.asked) == ("completed", "Done.", [])


def test_only_one_process_works_on_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with held(path), pytest.raises(RunBusy, match=r"another process works on the plan of .*s\.json: wait for it"):
        run_plan(of("a"), agent_of(tmp_path, Model({})), state=path)
    assert not path.exists()
    left = tmp_path / ".s.json.01234567.tmp"
    left.touch()
    state = PlanState.of(of("a"))
    state.save(path)
    assert not left.exists()
    other = PlanState.load(path)
    other.save(path)
    with pytest.raises(
        StorageError, match=r"at revision 2, this one was read at 1: another process has moved the plan"
    ):
        state.save(path)


def test_the_state_of_another_plan_is_refused_and_so_is_what_is_no_state(tmp_path: Path) -> None:
    path, agent = tmp_path / "s.json", agent_of(tmp_path, Model({}))
    PlanState.of(of("a")).save(path)
    with pytest.raises(ConfigurationError, match=r"is of another plan, or the plan has been changed since: put"):
        run_plan(of("b"), agent, state=path)
    good = on_disk(path)
    for part, told in [
        ({"results": None}, "it has no `results`"),
        ({"metadata": {**good["metadata"], "schema_version": 2}}, "its schema version is 2, 1 is known"),
        ({"metadata": {**good["metadata"], "events": 3}}, "`events` in its metadata is damaged"),
        ({"task_status": {"a": "odd"}}, "'odd' is no status of a task"),
    ]:
        path.write_bytes(store_of(tmp_path).masked({**good, **part}))
        with pytest.raises(StorageError, match="is no state of a plan") as refused:
            run_plan(of("a"), agent, state=path)
        assert told in str(refused.value)
    path.write_text("[]")
    with pytest.raises(StorageError, match=r"is there, and no state of a plan: name another file"):
        PlanState.of(of("a")).save(path)
    with pytest.raises(StorageError, match=r"cannot read the state of the plan"):
        PlanState.load(tmp_path / "none")
    with pytest.raises(StorageError, match=r"cannot read the state of the plan .*not a regular file"):
        PlanState.load(tmp_path)


def test_a_state_that_cannot_be_written_is_told_and_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot make the lock"):
        PlanState.of(of("a")).save(tmp_path / "file" / "s.json")
    name = "s" * (os.pathconf(tmp_path, "PC_NAME_MAX") - 10)  # the lock fits, and what it is written to first does not
    with pytest.raises(StorageError, match="cannot save the state of the plan to"):
        PlanState.of(of("a")).save(tmp_path / name)


def test_nothing_of_a_plan_is_written_into_the_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    agent = agent_of(tmp_path, Model({}), repository=repository)
    with pytest.raises(ConfigurationError, match=r"the state of the plan \(--state\) is .* inside the repository"):
        run_plan(of("a"), agent, state=repository / "s.json")
    state = run_plan(of("a"), agent)
    assert state.environment["repository"] == str(repository)
    with pytest.raises(ConfigurationError, match="inside the repository"):
        state.save(repository / "s.json")
    assert list(repository.iterdir()) == []


def test_a_plan_needs_an_agent_that_writes_traces(tmp_path: Path) -> None:
    agent = MicroAgent(tools=[], lm=ScriptedLM([]), rules=[])
    with pytest.raises(ConfigurationError, match="the agent of a plan writes traces: make it with traces="):
        run_plan(of("a"), agent, state=tmp_path / "s.json")


def test_a_plan_that_is_cancelled_begins_nothing_more(tmp_path: Path) -> None:
    cancel = Cancel()
    model = Model({"Do a.": [GOOD, text("Done.")]})
    state = run_plan(ALONE, agent_of(tmp_path, model), on_step=lambda step: cancel.set(), cancel=cancel)
    assert state.task_status == {"a": "stopped", "b": "pending"}
    assert state.results["a"]["reason"] == "cancelled"


def test_failing_tests_are_left_to_the_plan_and_the_rest_of_the_coach_stays(tmp_path: Path) -> None:
    model, coach = Model({}), coding_coach(CoachSettings(state="off"))

    def says(run: Run) -> str:
        return "You are coached."

    told = replace(coach, system=says)
    run_plan(of("a"), agent_of(tmp_path, model, coach=told), state=tmp_path / "s.json")
    run_id = PlanState.load(tmp_path / "s.json").results["a"]["run_id"]
    run = store_of(tmp_path).load(run_id)
    assert run.coach == {**coach.record, "corrections": 0}
    assert run.system == "You are coached."
    run_plan(of("a"), agent_of(tmp_path, model, coach=coding_coach(CoachSettings(corrections=0))))


def test_a_plan_that_is_suspended_goes_on_in_the_midst_of_a_run(tmp_path: Path) -> None:
    cancel, model = Cancel(), Model({"Do a.": [GOOD, TEST, text("Done.")]})
    state = run_plan(ALONE, agent_of(tmp_path, model), on_step=lambda step: cancel.suspend(), cancel=cancel)
    assert (state.status, state.task_status) == ("running", {"a": "running", "b": "pending"})
    done = run_plan(ALONE, agent_of(tmp_path, model))
    assert (done.status, done.results["a"]["run_id"]) == ("completed", state.results["a"]["run_id"])
    assert len(model.asked) == 4


def test_the_package_has_these_names_and_no_others() -> None:
    import micro_agent.plans

    assert [micro_agent.plans.run_plan, micro_agent.plans.state_path] == [run_plan, state_path]
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = micro_agent.plans.other  # pyright: ignore
