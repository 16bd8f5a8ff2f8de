"""What tree-sitter-bash sees in a command: where programs are named, and what stands in here-documents."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from micro_agent.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Seen:
    """Byte positions in a text.

    Attributes:
        names: Where the name of each program begins.
        documents: Where each here-document begins and ends; none if the text has an error.
    """

    names: tuple[int, ...]
    documents: tuple[tuple[int, int], ...]


@cache
def _parser() -> tuple[Any, Any, Any]:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError as error:
        raise ConfigurationError("commands are judged with tree-sitter: pip install 'micro-agent[coding]'") from error
    bash = tree_sitter.Language(tree_sitter_bash.language())
    return tree_sitter, tree_sitter.Parser(bash), tree_sitter.Query(bash, "(command_name) @name (heredoc_body) @document")


def seen(text: bytes) -> Seen:
    """Parse a text.

    Raises:
        ConfigurationError: tree-sitter is not installed.
    """
    tree_sitter, parser, query = _parser()
    root = parser.parse(text).root_node
    found: dict[str, list[Any]] = tree_sitter.QueryCursor(query).captures(root)
    documents = [] if root.has_error else found.get("document", [])
    return Seen(
        tuple(node.start_byte for node in found.get("name", [])),
        tuple((node.start_byte, node.end_byte) for node in documents),
    )
