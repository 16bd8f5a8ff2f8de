"""A name and its arguments line by line between tags."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
FOUND = [("search_code", {"pattern": "x", "max_results": 5})]


@pytest.mark.parametrize(
    "body",
    [
        "search_code\npattern: x\nmax_results: 5",
        "search_code\npattern=x\nmax_results=5",
        "name: search_code\npattern: x\nmax_results: 5",
        "tool_name: search_code\narguments:\n  pattern: x\n  max_results: 5",
    ],
)
def test_lines_are_arguments(body: str, read: Read) -> None:
    assert read(f"<tool_call>\n{body}\n</tool_call>") == FOUND
    assert read(f"I look.\n<function_call>\n{body}\n</function_call>") == FOUND
    two = f"<tool_call>\n{body}\n</tool_call>\n<tool_call>\nnow\ntimezone: utc\n</tool_call>"
    assert read(two) == [*FOUND, ("now", {"timezone": "utc"})]


@pytest.mark.parametrize(
    "body",
    [
        "search_code\npattern: x\nand so on",
        "search_code\npattern: x\nlimit: 5",
        "search_code\nlimit: 5",
        'search_code\npattern: "x\nmax_results: 5',
        "rm\npath: x",
    ],
)
def test_anything_else_is_not_run(body: str, read: Read) -> None:
    assert not isinstance(read(f"<tool_call>\n{body}\n</tool_call>"), list)


def test_what_has_no_end_is_not_run(read: Read) -> None:
    for torn in ("search_code\npattern: x", "name: search_code\narguments:\n  patt", "name: search_code\npattern: x\n"):
        assert read(f"<tool_call>\n{torn}") == "malformed"
        assert read(f"<tool_call>\n{torn}", "length") == "cut_off"
    assert read("<tool_call>\nrm\npath: x") != "cut_off"
    assert not isinstance(read("<tool_call>\nsearch_code\npattern: x\n</tool_call>", tools=None), list)
