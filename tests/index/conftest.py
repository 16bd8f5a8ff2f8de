"""The store that the tests of the index use."""

from pathlib import Path

import pytest

from tests.index.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
