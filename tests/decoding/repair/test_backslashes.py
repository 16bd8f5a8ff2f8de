r"""What a backslash means that is no escape of JSON: Markdown's goes, those of paths and patterns stay."""

import pytest

from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.mending import Allowance, Unreadable, mend
from tests.each import each


@each(
    ("written", "meant"),
    [
        (r'{"a": "\*bold\* \# one \> two"}', "*bold* # one > two"),
        (r'{"a": "2 \* 3"}', "2 * 3"),
        (r'{"a": "Hello\!"}', "Hello!"),
        (r'{"a": "a\_b \[link\]\(x\) 1\. end"}', "a_b [link](x) 1. end"),
        (r"{'a': 'b\_c \*d'}", "b_c *d"),
        (r'{"a": "f\(x\) and \[y\]"}', r"f\(x\) and \[y\]"),
        (r'{"a": "\d+\.\w\b \*"}', r"\d+\.\w\b \*"),
        (r'{"a": "\d+ \\ \b"}', "\\d+ \\ \b"),
        (r'{"pattern": "a\*b"}', r"a\*b"),
        (r'{"command": "ls \*.py \$HOME"}', r"ls \*.py \$HOME"),
        (r'{"a": "grep \"a\|b\" x"}', r'grep "a\|b" x'),
        (r'{"a": "C:\Users\name\new\temp"}', r"C:\Users\name\new\temp"),
        (r'{"a": "C:\Users \\_ \"q\""}', r'C:\Users \_ "q"'),
        (r'{"a": "it\'s \u00e9 \u12"}', r"it's é \u12"),
    ],
)
def test_a_backslash_stays_where_the_text_needs_it(written: str, meant: str) -> None:
    value, repairs = mend(written, Allowance())
    assert list(value.values()) == [meant]
    assert [repair.kind for repair in repairs] in (["escapes"], ["python_literal"])


def test_what_json_escapes_is_left_alone() -> None:
    for text in (r'{"a": "b\n\t\"\\d\u00e9"}', "{}", ""):
        assert legal_escapes(text) == text


def test_there_may_be_only_so_many() -> None:
    with pytest.raises(Unreadable, match="too many backslashes"):
        legal_escapes('"' + r"\d" * 5001 + '"')
