"""What tree-sitter-bash sees in a command: where programs are named, and what stands in here-documents."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from micro_agent.extras import need

_MOST_DOCUMENTS = 40
"""Here-documents of a text that is parsed: with many of them tree-sitter is slow. Others are scanned as commands."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Byte positions in a text.

    Attributes:
        names: Where the name of each program begins.
        documents: Where each here-document begins and ends; none if the text has an error.
    """

    names: tuple[int, ...]
    documents: tuple[tuple[int, int], ...]


NOTHING = Seen((), ())


@cache
def parser() -> Any:
    """tree-sitter's parser of bash.

    Raises:
        ConfigurationError: It is not installed.
    """
    need("coding", "tree_sitter", "tree_sitter_bash")
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def seen(text: bytes) -> Seen:
    """Parse a text."""
    if text.count(b"<<") > _MOST_DOCUMENTS:
        return NOTHING
    root = parser().parse(text).root_node
    names: list[int] = []
    documents: list[tuple[int, int]] = []
    has_documents = b"<<" in text and not root.has_error
    cursor = root.walk()
    while True:
        if cursor.field_name == "name":
            names.append(cursor.node.start_byte)
        elif has_documents and cursor.node.type == "heredoc_body":
            documents.append((cursor.node.start_byte, cursor.node.end_byte))
        if not cursor.goto_first_child():
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return Seen(tuple(names), tuple(documents))
