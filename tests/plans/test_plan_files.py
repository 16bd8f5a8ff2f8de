"""Files of plans: what they say, and what is told of one that says it wrongly."""

import json
from pathlib import Path

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.plans import Plan, PlanTask
from tests.each import each

GOOD = """\
goal: Add and test.
tasks:
  - id: 1.10
    task: Write it.
  - id: no
    task: |
      Test it.
    depends_on: [1.10]
    verify: pytest -q
"""
TWO = "tasks:\n  - {id: a, task: Do.%s}\n  - {id: %s, task: Do.}\n"


def test_a_plan_is_read_from_yaml_as_from_json(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(GOOD)
    plan = Plan.load(tmp_path / "plan.yaml")
    assert plan == Plan(
        goal="Add and test.",
        tasks=[
            PlanTask(id="1.10", task="Write it."),
            PlanTask(id="no", task="Test it.\n", depends_on=("1.10",), verify="pytest -q"),
        ],
    )
    (tmp_path / "plan.json").write_text("\ufeff" + json.dumps(plan.record()))
    other = Plan.load(str(tmp_path / "plan.json"))
    assert (other, other.digest) == (plan, plan.digest)
    assert other.source == tmp_path / "plan.json"
    assert Plan(tasks=plan.tasks).digest != plan.digest


@each(
    ("content", "told"),
    [
        ("tasks: []", "the plan has no tasks: write at least one under `tasks`"),
        ("", "it is no plan: begin it with `tasks:`"),
        ("goal: x", "it has no list of tasks: write them under `tasks`"),
        ("tasks: [do it]", "task 1 is 'do it': write `id` and `task` there"),
        ("tasks: [{id: a}]", "task 1 has no `task`: write it"),
        ("tasks: [{task: a}]", "task 1 has no `id`: write it"),
        ("tasks: [{id: a, task: ' '}]", "the task 'a' has an empty `task`"),
        ("tasks: [{id: a, task: b, verify: ''}]", "the task 'a' has an empty `verify`: write it, or leave it out"),
        ("tasks: [{id: ../a, task: b}]", "'../a' is no id of a task: an id is 1 to 64 letters"),
        ("tasks: [{id: a, task: [b]}]", "`task` of task 1 is ['b']: write text there, in quotes"),
        (
            "tasks: [{id: a, task: b, needs: c}]",
            "task 1 has `needs`, which is unknown: it may have id, task, depends_on",
        ),
        ("tasks: [{id: a, task: b}]\nname: c", "the plan has `name`, which is unknown: it may have goal, tasks"),
        ("tasks: [{id: a, task: b, depends_on: c}]", "`depends_on` of task 1 is 'c': write a list of ids there"),
        ("tasks: [{id: a, task: b, depends_on: [[c]]}]", "`depends_on` of task 1 is [['c']]: write a list of ids"),
        (TWO % ("", "a"), "two tasks have the id 'a': name one of them otherwise"),
        (TWO % (", depends_on: [c]", "b"), "the task 'a' depends on 'c', which is no task: name one of a, b"),
        (TWO % ("", "fix_a_2"), "'fix_a_2' is what a correction of the task 'a' is called: name that task otherwise"),
        ("tasks: [{id: a, task: b, depends_on: [a]}]", "tasks depend on each other in a circle (a → a): take one"),
        ("tasks:\n  - id: a\n    id: b\n", "the key 'id' stands there twice in one place: leave one of them out"),
        ("tasks:\n  - [a]: b\n", "['a'] is a key: keys are text"),
        ("tasks:\n  - id: 'a\n", "line 3: not YAML: found unexpected end of stream"),
        ("a: \x01", "not YAML: "),
        ("[" * 5000, "nested too deeply: a plan is a list of tasks"),
        (b"\xff", "it is not text in UTF-8: save it as that"),
        (b"#" * 1_000_001, "it has more than 1,000,000 bytes: split it"),
    ],
    ids=lambda case: repr(case[0])[:60],
)
def test_what_is_wrong_is_told_with_what_to_do(content: str | bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigurationError) as refused:
        Plan.load(path)
    assert told in str(refused.value)
    assert str(refused.value).startswith(f"the plan {path}")
    assert "\n" not in str(refused.value)


def test_json_is_read_as_json(tmp_path: Path) -> None:
    path = tmp_path / "plan.JSON"
    path.write_text('{"tasks": [{"id": 1, "task": "x"}]}')
    with pytest.raises(ConfigurationError, match="`id` of task 1 is 1: write text there, in quotes"):
        Plan.load(path)
    path.write_text('{"tasks": [],\n "tasks": []}')
    with pytest.raises(ConfigurationError, match="the key 'tasks' stands there twice"):
        Plan.load(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ConfigurationError, match="nested too deeply: a plan is a list of tasks"):
        Plan.load(path)
    path.write_text('{"tasks": \n')
    with pytest.raises(ConfigurationError, match="line 2: not JSON"):
        Plan.load(path)
    with pytest.raises(ConfigurationError, match=r"the plan .*none\.yaml: cannot be read: No such file"):
        Plan.load(tmp_path / "none.yaml")
