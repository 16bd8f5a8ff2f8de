"""No announcement ends a run whose model says that it is not done, and no answer is refused."""

from collections import Counter
from typing import Any

import pytest

from micro_agent.run import FINISH_ASKED, Mode

from .endings import ANSWER, ROWS, played

LANGUAGES = sorted({row["language"] for row in ROWS})


QUICK = [("de", "json"), ("zh", "native")]


def each() -> list[Any]:
    """Every language in both modes; all but a few are among the long tests."""
    pairs = [(language, mode) for language in LANGUAGES for mode in ("native", "json")]
    return [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.torture) for pair in pairs]


@pytest.mark.parametrize(("language", "mode"), each())
def test_what_is_not_final_goes_on_and_what_is_ends_the_run(language: str, mode: Mode) -> None:
    for ending in played([row for row in ROWS if row["language"] == language], mode):
        run, row = ending.run, ending.row
        assert (run.status, ending.refused) == ("completed", False), (row["id"], run.steps)
        if mode == "json" and row["text"].startswith("{"):  # after a tool an object is under ``final``, and taken
            assert (run.finished_by, ending.as_said, ending.asked) == ("final", True, 0)
            continue
        assert run.finished_by == "asked"
        if row["kind"] == "answer":
            assert (ending.as_said, ending.asked) == (True, 1), row["id"]
        else:
            assert (run.answer, ending.asked) == (ANSWER, 2), row["id"]
            said = next(step for step in run.steps if step.tool == FINISH_ASKED)
            assert (said.args["answer"], said.observation) == (row["text"], "Then go on.")


def test_the_set_is_as_large_as_it_says() -> None:
    kinds = Counter(row["kind"] for row in ROWS)
    assert kinds == {"announcement": 140, "answer": 240, "deed": 30}
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len({row["language"] for row in ROWS if row["kind"] == "announcement"}) == 7
    assert all({"tool", "result"} <= row.keys() and row["tool"] in row["tools"] for row in ROWS if row["after_tool"])
