"""The example with GNU parallel of the docs, which quick tests leave out: it is a program of its own."""

import shutil
from pathlib import Path

import pytest

from tests.docs.test_docs import ROOT, blocks, expected, play, shows
from tests.warm import Warm

pytestmark = pytest.mark.torture


def test_gnu_parallel_runs_shards_as_the_page_shows(tmp_path: Path, warm: Warm) -> None:
    assert shutil.which("parallel"), "install GNU parallel: apt-get install parallel"
    page = ROOT / "docs" / "scale.md"
    every = list(blocks(page.read_text(encoding="utf-8")))
    played = [block for block in every if block.content.startswith(("# tasks.yaml", "$ parallel "))]
    assert len(played) == 2
    printed = play(page, played, tmp_path, warm)[1]
    assert shows(expected(every, played[1]) or "", printed), printed
