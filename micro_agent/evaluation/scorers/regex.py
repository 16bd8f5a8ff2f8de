"""``expect_regex``: a regular expression that is found in the answer."""

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import answer_of, met, quoted, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run
from micro_agent.text.matching import LIMIT_S, search


def check(task: Task, run: Run) -> Check | None:
    """Whether the expression is found anywhere in the answer; ``None`` if none is expected."""
    if task.expect_regex is None:
        return None
    found = False if run.model_answer is None else search(task.expect_regex, run.model_answer)
    if found:
        return met("regex")
    why = answer_of(run) if found is False else f"the search took more than {LIMIT_S:g} s; write a simpler one"
    return unmet("regex", f"a match of {quoted(task.expect_regex)}", why)
