"""The page about tools: its Python runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"


def test_the_examples_of_the_page_run_from_top_to_bottom() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 9
    names: dict[str, object] = {"__name__": "tools_page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
