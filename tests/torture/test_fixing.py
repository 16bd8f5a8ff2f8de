"""The picture of the coding agent is what its script makes of a real run, with real tests in a real sandbox."""

from pathlib import Path

import pytest

from tests.warm import Warm

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"


@pytest.mark.torture
def test_the_script_makes_the_picture_that_is_committed(tmp_path: Path, warm: Warm) -> None:
    made = tmp_path / "fixing.svg"
    done = warm.run(PICTURES / "fixing.py", made, cwd=tmp_path, timeout=150)
    assert done.returncode == 0, done.stderr
    told = "the picture is not that of today's code: run python docs/pictures/fixing.py"
    assert made.read_text("utf-8") == (PICTURES / "fixing.svg").read_text("utf-8"), told
