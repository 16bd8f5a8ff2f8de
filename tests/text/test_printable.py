"""What a person approves shows itself: nothing in it is obeyed by a terminal, drawn as nothing or drawn elsewhere."""

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.text.printable import visible


def test_what_shows_stays_and_what_does_not_is_an_escape() -> None:
    assert visible("rm -rf x\n\tcaf\u00e9 \u65e5\u672c \U0001f600") == "rm -rf x\n\tcaf\u00e9 \u65e5\u672c \U0001f600"
    hidden = "\x00\x1b\r\x7f\x9b\xa0\xad\u034f\u061c\u115f\u200b\u200d\u202e\u2028\u2066\u2800\u3164\ufe0f\ufeff\ud800"
    hidden += "\ue000\uffa0\U000e0041\U000e0100\U0010ffff"
    for char in hidden:
        for text in (char, f"a{char}b", f"\u00e9{char}"):
            assert visible(text) == text.replace(char, char.encode("unicode_escape").decode()), ascii(char)


@given(st.text())
def test_nothing_is_lost_and_lines_stay_lines(text: str) -> None:
    shown = visible(text)
    assert all(char in "\n\t" or char.isprintable() for char in shown)
    assert shown.count("\n") == text.count("\n")
    assert shown.isascii() or any(char in text for char in shown if not char.isascii())
