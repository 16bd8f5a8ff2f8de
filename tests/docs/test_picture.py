"""The picture of the README is what its script makes of a real run, and asks nobody on the net for anything."""

import re
from pathlib import Path

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


def test_the_picture_names_no_address_but_the_namespace_of_svg() -> None:
    assert set(re.findall(r"https?://[^\"' )]+", PICTURE.read_text("utf-8"))) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in PICTURE.read_text("utf-8")
    assert "@font-face" not in PICTURE.read_text("utf-8")
