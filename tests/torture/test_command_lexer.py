"""The lexer of commands reads what bash reads, over many random commands."""

from pathlib import Path

import pytest

from tests.coding.shell_words import compare, random_commands

STRINGS = 100_000


@pytest.mark.torture
def test_the_lexer_reads_what_bash_reads(tmp_path: Path) -> None:
    read, wrong = compare(random_commands(STRINGS, seed=15), tmp_path)
    print(f"{STRINGS} strings, {read} different ones read, {len(wrong)} otherwise than by bash")  # noqa: T201
    assert wrong == []
    assert read > STRINGS / 10
