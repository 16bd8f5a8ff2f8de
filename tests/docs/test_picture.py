"""The picture of the README is what its script makes of a real run, and asks nobody on the net for anything."""

import re
from html import unescape
from pathlib import Path

import pytest

from tests.warm import Warm

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SCRIPT, PICTURE = PICTURES / "replay.py", PICTURES / "replay.svg"


def test_the_script_makes_the_picture_that_is_committed(tmp_path: Path, warm: Warm) -> None:
    made = tmp_path / "replay.svg"
    done = warm.run(SCRIPT, made, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = f"the picture is not that of today's code: run python {SCRIPT.relative_to(PICTURES.parents[1])}"
    assert made.read_text("utf-8") == PICTURE.read_text("utf-8"), told
    assert [path.name for path in tmp_path.iterdir()] == ["replay.svg"]


@pytest.mark.parametrize("name", ["replay.svg", "fixing.svg"])
def test_a_picture_loads_nothing_from_an_address(name: str) -> None:
    shown = (PICTURES / name).read_text("utf-8")
    assert set(re.findall(r"https?://[^\"' )<]+", re.sub(r">[^<]*<", "><", shown))) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in shown
    assert "@font-face" not in shown


def test_the_picture_of_the_coding_agent_shows_each_of_its_helps() -> None:
    """It is made anew in `tests/torture/test_fixing.py`: that takes two runs of tests in a sandbox."""
    shown = unescape(re.sub(r"<[^>]+>", "", (PICTURES / "fixing.svg").read_text("utf-8"))).replace("\xa0", " ")
    parts = ["rg_search", "NOT_FOUND_IN_FILE; next: edit_file", "approve: decided elsewhere", "1 passed, 1 failed",
             "Fix these failing tests (round 1 of 3)", "2 passed, 0 failed", "readiness passed", "gh pr create",
             "The pull request is open"]  # fmt: skip
    places = [shown.find(part) for part in parts]
    assert places == sorted(places)
    assert min(places) > 0
