"""What the agent is asked about a task. What a model or a test wrote stands apart, as text that is attached."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, cast

import yaml

from micro_agent.plans.outcome import Failing
from micro_agent.text.attached import with_attached
from micro_agent.tools.shorten import cut_middle

_CONTEXT = 2_400
"""Characters of what the tasks before it gave: a model of 8,192 tokens has to have place for its work."""
_TASK = 400
_LINE = 300


def question_of(
    task: str, *, goal: str | None = None, verify: str | None = None, earlier: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The question of a task.

    Args:
        task: What the plan asks for.
        goal: That of the plan.
        verify: The test command that has to pass.
        earlier: ``task`` (its id), ``answer`` and ``files`` of the tasks that it depends on.
    """
    words, parts = _wording(), [task.strip()]
    if goal:
        parts.append(f"{words['goal']} {goal.strip()}")
    if verify:
        parts.append(f"{words['verify']} {verify.strip()}")
    if not earlier:
        return "\n\n".join(parts)
    each = max(_LINE, _CONTEXT // len(earlier))
    return with_attached("\n\n".join([*parts, words["earlier"]]), "\n".join(_gave(one, each) for one in earlier))


def fix_question(task: str, failing: Failing) -> str:
    """The question of a correction, as it stands in the plan's state."""
    words = _wording()
    parts = [words["fix" if failing.ran else "not_run"], f"{words['of_task']} {_short(' '.join(task.split()), _TASK)}"]
    if failing.cmd:
        parts.append(f"{words['command']} {failing.cmd.strip()}")
    told = [_told(one) for one in failing.tests]
    told += [f"- and {failing.more} more"] * bool(failing.more)
    text = "\n".join(told) or (failing.output or "").strip()
    return with_attached("\n\n".join([*parts, words["failing"]]), text) if text else "\n\n".join(parts)


def _gave(result: Mapping[str, Any], most: int) -> str:
    answer = _short(" ".join(str(result.get("answer") or "").split()), most)
    files = ", ".join(cast("list[str]", result.get("files") or []))
    changed = f" ({_wording()['changed']} {_short(files, _LINE)})" if files else ""
    return f"[{result['task']}] {answer}{changed}"


def _told(test: Mapping[str, Any]) -> str:
    """``- tests/test_sums.py::test_add: assert -1 == 5 (tests/test_sums.py:5)``."""
    name, assertion, place = (str(test.get(key) or "").strip() for key in ("test", "assertion", "place"))
    line = f"- {name}" + (f": {' '.join(assertion.split())}" if assertion else "")
    return _short(line, _LINE) + (f" ({place[:_LINE]})" if place else "")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else cut_middle(text, most)


@cache
def _wording() -> Mapping[str, str]:
    return yaml.safe_load(resources.files("micro_agent.plans").joinpath("wording.yaml").read_text(encoding="utf-8"))
