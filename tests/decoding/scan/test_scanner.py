"""Balanced pieces of text, found in one pass."""

import pytest

from micro_agent.decoding.scan.scanner import pieces


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a {"b": [1]} c [2] d', ['{"b": [1]}', "[2]"]),
        ('{"a": "}{"}', ['{"a": "}{"}']),
        ('{"a": "\\"}"}', ['{"a": "\\"}"}']),
        ("{'a': '}'}", ["{'a': '}'}"]),
        ("{it's } fine}", ["{it's }"]),
        ('{"a": [1, 2}', ['{"a": [1, 2}']),
        ('{"a": 1]}', ['{"a": 1]}']),
        ("f(x) { {}", ["{}"]),
        ('{"a": {"b": 1}', ['{"a": {"b": 1}', '{"b": 1}']),
        ("} ]", []),
        ("", []),
    ],
)
def test_pieces_reach_from_bracket_to_bracket(text: str, found: list[str]) -> None:
    assert [piece.text for piece in pieces(text)] == found


def test_an_open_piece_says_what_it_lacks() -> None:
    assert [piece.missing for piece in pieces('{"a": [{"b": 1')] == ["}]}", "}]", "}"]
    assert [piece.missing for piece in pieces('{"a": "b')] == [None]
    assert pieces('{"a": ' * 65)[0].missing is None


def test_a_piece_knows_where_it_stands() -> None:
    text = "say {1} now"
    piece = pieces(text)[0]
    assert text[piece.start : piece.end] == "{1}"
    assert piece.closed


def test_the_search_ends_after_some_thousand_brackets() -> None:
    assert len(pieces("{}" * 50_000)) < 5000
    assert len(pieces("[" * 50_000)) < 50
    assert pieces('["' + '", "'.join("a" * 20_000) + '"]')[0].missing is None
