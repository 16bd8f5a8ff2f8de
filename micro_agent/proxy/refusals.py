"""What a model said, where a server refuses to pass it on since it could not read a call in it."""

import re
from collections.abc import Mapping
from typing import Any

from micro_agent.models.bodies import as_object
from micro_agent.models.refusals import parsed
from micro_agent.text.encoding import as_json

_RAW = re.compile(
    # llama.cpp: "Failed to parse input at pos 4: <tool_call>…"; Ollama: "error parsing tool call: raw='…', err=…"
    r"Failed to parse input at pos \d+: (?P<rest>.+)|error parsing tool call: raw='(?P<raw>.+)', err=",
    re.DOTALL,
)


def said_in(body: bytes) -> str | None:
    """The text of the model in the body of an error; ``None`` where there is none, as in most."""
    data = parsed(body.decode(errors="replace"))
    return None if data is None else said_of(data)


def said_of(data: Mapping[str, Any]) -> str | None:
    """The text of the model in an error.

    Groq and vLLM send it as ``failed_generation``, llama.cpp and Ollama in the message. llama.cpp's newer message, that
    the output does "not match the expected peg-native format", holds nothing of it.
    """
    error = as_object(data.get("error"))
    raw: Any = error.get("failed_generation", data.get("failed_generation"))
    if raw:
        return raw if isinstance(raw, str) else as_json(raw)
    message = error.get("message") or data.get("error")
    found = _RAW.search(message) if isinstance(message, str) else None
    return found and (found["rest"] or found["raw"])
