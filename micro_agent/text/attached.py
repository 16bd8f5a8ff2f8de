"""A question with a text attached to it, such as what came through a pipe: how they are put together and told apart."""

import re

_ATTACHED = re.compile(r"\n\n<(stdin(?:-\d+)?)>\n.*\n</\1>\Z", re.DOTALL)


def with_attached(question: str, text: str) -> str:
    """The question, then the text between ``<stdin>`` and ``</stdin>``; where the text has such tags, numbered ones."""
    number, tag = 1, "stdin"
    while f"<{tag}>" in text or f"</{tag}>" in text:
        number += 1
        tag = f"stdin-{number}"
    return f"{question}\n\n<{tag}>\n{text}\n</{tag}>"


def own_words(question: str) -> str:
    """What the user asks, without the text that is attached."""
    found = _ATTACHED.search(question) if question.endswith(">") else None
    return question if found is None else question[: found.start()]
