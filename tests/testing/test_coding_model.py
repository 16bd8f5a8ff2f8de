"""The scripted coding model over the real loop, with the real tools, in a small repository: it solves, and it fails."""

from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Run
from micro_agent.coding import CHANGING, EditFormat
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.coding.toolset import coding_toolset
from micro_agent.errors import ConfigurationError
from micro_agent.models import announcing
from micro_agent.rules.limits import Limits
from micro_agent.run import Mode
from micro_agent.testing import ScriptedLM
from micro_agent.testing.coding_model import FAULTS, CodingModel, Edit, Plan
from tests.coding.repositories import repository
from tests.each import each

TASK = "Fix add in sums.py: it subtracts."
RIGHT = Edit(path="sums.py", target="    return a - b\n", replacement="    return a + b\n")
WRONG = Edit(path="sums.py", target="    return a - b\n", replacement="    return b - a\n")
PLAN = Plan(
    search="def add", read=("sums.py",), edits=(RIGHT,), wrong=(WRONG,), test="grep -q 'a + b' sums.py",
    answer="add adds now.",
)  # fmt: skip
"""Its tests are a search in the file: they take no time, and fail as tests do."""
EDIT, PATCH, DIFF = "edit_file", "propose_patch", "propose_patch_unified"


class Place:
    """A repository, in which runs begin anew."""

    def __init__(self, where: Path) -> None:
        self.root = repository(where / "repo")
        self.file = self.root / "sums.py"
        self.before = self.file.read_text()
        self.state = where / "state"

    def run(
        self, model: CodingModel, edits: EditFormat = "edit", *, mode: Mode = "native", steps: int = 25, **options: Any
    ) -> Run:
        """What comes of the task, from the file as it was, where only the first of the tools for changes is there."""
        self.file.write_text(self.before)
        found = coding_toolset(self.root, sandbox="clone", state_dir=self.state, edits=edits)
        tools = [tool for name, tool in found.items() if name not in CHANGING[edits][1:]]
        options = {"confirm": "all", "demos": [], "resamples": 0, **options}
        return MicroAgent(tools, ScriptedLM(model, mode=mode), limits=Limits(max_steps=steps), **options).ask(TASK)

    @property
    def solved(self) -> bool:
        return RIGHT.replacement in self.file.read_text()


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    announcing.once.cache_clear()
    return Place(tmp_path)


def did(run: Run) -> list[str]:
    """The tools that were called, and what the loop said, in their order."""
    return [step.tool for step in run.steps]


def fails(run: Run) -> list[tuple[str, str]]:
    """The steps that went wrong, and how."""
    return [(step.tool, step.error) for step in run.steps if step.error]


def model(*only: str, faults: float = 1.0, plan: Plan = PLAN, seed: int = 1, **options: Any) -> CodingModel:
    settings: dict[str, Any] = {"follows": 0.0, "only": only or None, **options}
    return CodingModel(plan, faults=faults, seed=seed, **settings)


BEFORE, AFTER = ["rg_search", "read_file"], ["run_tests"]
WAYS: list[tuple[EditFormat, Mode, list[str]]] = [
    ("edit", "native", [*BEFORE, EDIT, *AFTER]),
    ("patch", "json", [*BEFORE, PATCH, "apply_patch", *AFTER]),
    ("udiff", "native", [*BEFORE, DIFF, "apply_patch", *AFTER]),
    ("tagged", "native", [*BEFORE, EDIT, *AFTER]),
]


def test_without_faults_it_solves_with_whatever_tools_there_are(place: Place):
    for edits, mode, steps in WAYS:
        run = place.run(model(faults=0.0), edits, mode=mode)
        assert (did(run), run.answer, run.status) == (steps, PLAN.answer, "completed")
        assert place.solved


STEPS = {"wrong_patch": 4, "same_again": 6, "wander": 4}
"""So many until a fault shows; three for the others."""
SHOWS: list[tuple[str, EditFormat, tuple[str, str | None]]] = [
    ("unknown_tool", "edit", ("⛔️validation_error", "UNKNOWN_TOOL")),
    ("unknown_argument", "edit", ("⛔️validation_error", "VALIDATION_FAILED")),
    ("wrong_path", "edit", ("read_file", "FILE_NOT_FOUND")),
    ("bad_range", "edit", ("read_file", "INVALID_LINE_RANGE")),
    ("not_found", "edit", (EDIT, "NOT_FOUND_IN_FILE")),
    ("ambiguous", "edit", (EDIT, "TARGET_AMBIGUOUS")),
    ("bad_tag", "tagged", (EDIT, "STALE_FILE")),
    ("bad_diff", "udiff", (DIFF, "INVALID_DIFF")),
    ("wrong_patch", "patch", ("apply_patch", "PATCH_NOT_FOUND")),
    ("same_again", "edit", ("⛔️repetition", None)),
    ("wander", "edit", ("⚠️warning", None)),
    ("call_in_prose", "edit", ("❓make_asked", None)),
]


@each(["fault", "edits", "shown"], SHOWS)
def test_each_fault_shows_on_the_record(
    place: Place, fault: str, edits: EditFormat, shown: tuple[str, str | None]
):  # fmt: skip
    played = model(fault, stuck=1.0)
    run = place.run(played, edits, steps=STEPS.get(fault, 3))
    assert shown in [(step.tool, step.error) for step in run.steps]
    assert {decided.fault for decided in played.decisions} <= {fault, None}


def test_it_ends_too_early_where_it_should_do_something(place: Place):
    run = place.run(model("finish"))
    assert (did(run), run.answer) == ([], PLAN.answer)
    run = place.run(model("announce"))
    assert run.answer in ("Let me search the repository for the relevant code.", "I will first look for the function.")


def test_arguments_that_are_no_json_are_read_all_the_same_or_refused(place: Place):
    run = place.run(model("broken_json"), steps=6)
    assert any(call.repairs or call.error for call in run.calls)


def test_a_wrong_edit_makes_the_tests_fail_and_is_mended_by_one_who_sees_it(place: Place):
    run = place.run(model("wrong_edit", alone=1.0))
    assert did(run) == [*BEFORE, EDIT, "run_tests", EDIT, "run_tests"]
    assert [step.observation["ok"] for step in run.steps if step.tool == "run_tests"] == [False, True]
    assert place.solved


def test_one_who_does_not_see_it_runs_the_tests_again_or_ends(place: Place):
    run = place.run(model("wrong_edit", alone=0.0, stuck=0.0))
    assert (did(run), run.answer) == ([*BEFORE, EDIT, "run_tests"], PLAN.answer)
    run = place.run(model("wrong_edit", alone=0.0, stuck=1.0), steps=7)
    assert did(run)[3:6] == ["run_tests"] * 3
    assert not place.solved


def test_what_an_error_suggests_is_done_or_the_mistake_is_made_again_or_it_goes_on(place: Place):
    run = place.run(model("bad_range", follows=1.0), steps=4)
    failed, next_ = run.steps[1], run.steps[2]
    assert (next_.tool, next_.args) == tuple(failed.observation["recovery_suggestion"]["tool_call"].values())
    run = place.run(model("bad_range", stuck=1.0), steps=3)
    assert run.steps[2].args == run.steps[1].args
    run = place.run(model("bad_range", stuck=0.0), steps=3)
    assert did(run) == [*BEFORE, EDIT]


@pytest.mark.torture
def test_the_same_seed_gives_the_same_run_and_another_one_another(place: Place):
    def steps(seed: int) -> list[tuple[str, dict[str, Any]]]:
        run = place.run(model(faults=0.6, seed=seed, follows=0.5), resamples=None, steps=5)
        return [(step.tool, step.args) for step in run.steps]

    first, again, other = (steps(seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@each("mode", ["native", "json"])
def test_where_a_call_is_required_it_makes_one_if_its_server_holds_it_to_that(mode: Mode, place: Place):
    """One that only finishes is led on by the gates; on a server that holds no reply to anything it is stopped."""
    coached: dict[str, Any] = {"mode": mode, "coach": coding_coach(CoachSettings())}
    hasty = place.run(model("finish", held=True), **coached)
    assert [step.tool for step in hasty.steps if step.is_tool] == ["rg_search", "read_file"]
    done = place.run(model("finish", held=True, faults=0.7, seed=3), **coached)
    assert [step.tool for step in done.steps if step.is_tool] == ["rg_search", "read_file", "edit_file", "run_tests"]
    assert (place.solved, done.gates and done.gates["all_passed"]) == (True, True)
    loose = place.run(model("finish"), **coached)
    assert (loose.termination_reason, did(loose)) == ("policy", ["⛔️policy_violation"] * 3)


def test_figures_and_names_are_checked():
    with pytest.raises(ConfigurationError, match="stuck must be a share"):
        model(stuck=1.5)
    with pytest.raises(ConfigurationError, match="there is no fault 'typo'"):
        model("typo")
    with pytest.raises(ValueError, match="edits must say what to change"):
        Plan(answer="done")
    assert len(FAULTS) == 17
