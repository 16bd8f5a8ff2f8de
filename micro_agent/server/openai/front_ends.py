"""Which requests a front end makes for itself. How each marks them is in ``front_ends.yaml``."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

import yaml

from micro_agent.server.openai.asked import Asked


def is_own_task(asked: Asked, headers: Mapping[str, str], metadata: Mapping[str, Any] | None) -> bool:
    """Whether a front end asks this for itself: a title, tags, follow-ups. No tool is run for it."""
    return any(_marked(front_end, asked, headers, metadata or {}) for front_end in known_front_ends())


@cache
def known_front_ends() -> list[dict[str, Any]]:
    """The front ends that are known, as ``front_ends.yaml`` has them."""
    return yaml.safe_load(
        resources.files("micro_agent.server.openai").joinpath("front_ends.yaml").read_text(encoding="utf-8")
    )


def _marked(known: dict[str, Any], asked: Asked, headers: Mapping[str, str], metadata: Mapping[str, Any]) -> bool:
    if headers.get(known["header"]) in known["tasks"] or metadata.get(known["key"]) in known["tasks"]:
        return True
    return not asked.history and any(_is_made_from(template, asked.question) for template in known["templates"])


def _is_made_from(template: dict[str, Any], question: str) -> bool:
    """Whether a question is this template, filled in. It is known by digests: its words are not ours to keep here."""
    if not question.rstrip().endswith(template["ends"]):
        return False
    return any(
        sha256(question[:length].encode(errors="backslashreplace")).hexdigest() == digest
        for length, digest in template["begins"].items()
    )
