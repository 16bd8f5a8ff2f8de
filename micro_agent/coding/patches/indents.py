"""The indentation of added lines, where a model indents otherwise than the file that it changes."""

from collections.abc import Callable, Iterable

Change = Callable[[str], str | None]
_WIDTHS = (2, 3, 4, 8)


def indent_of(text: str) -> str:
    """The blanks and tabs before a line."""
    return text[: len(text) - len(text.lstrip(" \t"))]


def carried_over(pairs: Iterable[tuple[str, str]], added: list[str]) -> list[str] | None:
    """The added lines indented as the file is.

    Args:
        pairs: Lines as the model wrote them, each with the line of the file that it means.
        added: The lines that the model adds.

    Returns:
        The lines; ``None`` where the pairs do not say how, or say several things.
    """
    indents = {(indent_of(written), indent_of(there)) for written, there in pairs if there.strip()}
    results = [
        [text if done is None else done + text.lstrip(" \t") for text, done in zip(added, changed, strict=True)]
        for change in _changes(indents)
        if all(change(written) == there for written, there in indents)
        and None not in (changed := [change(indent_of(text)) if text.strip() else indent_of(text) for text in added])
    ]
    return results[0] if results and all(result == results[0] for result in results) else None


def _changes(indents: set[tuple[str, str]]) -> list[Change]:
    """The ways in which one indentation may become another."""
    written, there = max(indents, key=lambda pair: (len(pair[0]), len(pair[1])), default=("", ""))
    ways: list[Change] = [lambda indent: indent]
    if there.endswith(written):
        ways.append(lambda indent: there.removesuffix(written) + indent)
    if written.endswith(there):
        less = written.removesuffix(there)
        ways.append(lambda indent: indent.removeprefix(less) if indent.startswith(less) else None)
    ways += [_to_tabs(width) for width in _WIDTHS]
    ways += [_to_blanks(width) for width in _WIDTHS]
    if written.strip(" ") == there.strip(" ") == "" and written and there:
        ways.append(lambda indent: _scaled(indent, len(there), len(written)))
    return ways


def _to_tabs(width: int) -> Change:
    return lambda indent: None if indent.replace(" " * width, "").strip("\t") else indent.replace(" " * width, "\t")


def _to_blanks(width: int) -> Change:
    return lambda indent: indent.replace("\t", " " * width)


def _scaled(indent: str, to: int, of: int) -> str | None:
    return None if indent.strip(" ") or len(indent) * to % of else " " * (len(indent) * to // of)
