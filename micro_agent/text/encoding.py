"""Values as the text that a model reads."""

import json
from collections.abc import Mapping
from typing import Any, cast

_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


def as_json(value: Any) -> str:
    """JSON on one line, non-ASCII letters as they are: a small model reads them better than escapes."""
    return encodable(_encode(value))


def encodable(text: str) -> str:
    """The text with lone surrogates replaced: no server can receive one, and DSPy refuses them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def object_of(value: Any) -> dict[str, Any] | None:
    """A JSON object, which may still be text; ``None`` for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else None
