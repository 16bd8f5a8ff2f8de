"""The task of every client: two tools and an answer that only right calls lead to. Needs the standard library alone."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

QUESTION = (
    "Find the part called M8 bolt (show 3 hits). Then reserve 12 of the first hit, not urgent, labelled `fragile` and "
    "`to Rome`, and tell me the code of the reservation."
)
SYSTEM = "You take care of a store of spare parts. Use the tools."

Args = dict[str, Any]

FIND: tuple[str, Args] = ("find_part", {"query": "M8 bolt", "limit": 3})
RESERVE: tuple[str, Args] = (
    "reserve_part",
    {"part": "P-77", "count": 12, "urgent": False, "labels": ["fragile", "to Rome"]},
)
FIND_OTHER: tuple[str, Args] = ("find_part", {"query": "M8 nut", "limit": 3})

PARTS = {"P-77": "M8 bolt, 40 mm", "P-78": "M8 bolt, 60 mm", "P-91": "M8 nut"}
STOCK = {"P-77": 140, "P-78": 9, "P-91": 200}


def schema(required: Mapping[str, Args]) -> Args:
    """An object of which every property is required, and no other allowed."""
    return {
        "type": "object",
        "properties": dict(required),
        "required": list(required),
        "additionalProperties": False,
    }


FIND_SCHEMA = schema(
    {"query": {"type": "string", "description": "Part of the name."}, "limit": {"type": "integer", "minimum": 1}}
)
RESERVE_SCHEMA = schema(
    {
        "part": {"type": "string", "description": "The id, such as P-01."},
        "count": {"type": "integer", "minimum": 1},
        "urgent": {"type": "boolean"},
        "labels": {"type": "array", "items": {"type": "string"}},
    }
)
TOOLS: list[tuple[str, str, Args]] = [
    ("find_part", "Find parts by a piece of their name.", FIND_SCHEMA),
    ("reserve_part", "Reserve a part. Gives the code of the reservation.", RESERVE_SCHEMA),
]


def code_of(part: str, count: int, urgent: bool, labels: list[str]) -> str:
    """The code of a reservation: another one for any other arguments."""
    return "R-" + hashlib.sha256(json.dumps([part, count, urgent, labels]).encode()).hexdigest()[:6]


CODE = code_of(**RESERVE[1])


class Store:
    """The tools as a careful nobody writes them: what Python takes is taken. ``calls`` is what was done."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Args]] = []

    def find_part(self, query: str, limit: int) -> str:
        """Find parts by a piece of their name.

        Args:
            query: Part of the name.
            limit: How many to give at most.
        """
        hits = [{"part": part, "name": name} for part, name in PARTS.items() if query.lower() in name.lower()][:limit]
        self.calls.append(("find_part", {"query": query, "limit": limit}))
        return json.dumps({"hits": hits})

    def reserve_part(self, part: str, count: int, urgent: bool, labels: list[str]) -> str:
        """Reserve a part. Gives the code of the reservation.

        Args:
            part: The id, such as P-01.
            count: How many.
            urgent: Whether it cannot wait.
            labels: What to write on the box.
        """
        left = STOCK[part] - count
        self.calls.append(("reserve_part", {"part": part, "count": count, "urgent": urgent, "labels": labels}))
        return json.dumps({"code": code_of(part, count, urgent, labels), "left": left, "box": ", ".join(labels)})

    def do(self, name: str, arguments: Any) -> str:
        """Do one call as the examples of the SDKs do it: by name, with what was parsed."""
        return {"find_part": self.find_part, "reserve_part": self.reserve_part}[name](**arguments)
