"""What is cut is said to be cut, and what fits is left alone."""

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.coding.bounds import cut_line, cut_list, cut_text, tail
from tests.each import each

TEXTS = st.text("ab\n", max_size=30)


@given(TEXTS, st.integers(1, 12), st.integers(1, 5))
def test_a_text_is_cut_behind_a_line(text: str, chars: int, lines: int) -> None:
    kept, was_cut = cut_text(text, chars, lines)
    assert text.startswith(kept)
    assert len(kept) <= chars
    assert kept.removesuffix("\n").count("\n") < lines
    assert was_cut == (kept != text)
    assert not was_cut or kept.endswith("\n") or "\n" not in text[:chars]
    if len(text) <= chars and text.removesuffix("\n").count("\n") < lines:
        assert not was_cut


@given(TEXTS, st.integers(1, 12))
def test_a_tail_begins_with_a_line(text: str, chars: int) -> None:
    kept, was_cut = tail(text, chars)
    assert text.endswith(kept)
    assert len(kept) <= chars
    assert bool(kept) == bool(text)
    assert was_cut == (kept != text) == (len(text) > chars)
    assert not was_cut or text[: -len(kept)].endswith("\n") or "\n" not in kept[:-1]


@each(
    ("found", "expected"),
    [
        (cut_text("one\ntwo\nthree\n", 8), ("one\ntwo\n", True)),
        (cut_text("one\ntwo\n", lines=2), ("one\ntwo\n", False)),
        (cut_text("abcdef\n", 3), ("abc", True)),
        (tail("one\ntwo\nthree\n", 7), ("three\n", True)),
        (tail("one\ntwo\nthree\n", 6), ("three\n", True)),
        (tail("abcdef\n", 3), ("ef\n", True)),
        (cut_list([1, 2, 3], 2), ([1, 2], True)),
        (cut_list((1, 2), 2), ([1, 2], False)),
        (cut_line("abcdef", 4), ("abc…", True)),
        (cut_line("abcd", 4), ("abcd", False)),
    ],
)
def test_examples(found: object, expected: object) -> None:
    assert found == expected
