"""Many tools behind a search: a small model is told of two tools, and of others when it looks for them.

What was found is called by its own name, if the wire lets a model do that, or through ``call_tool``; both are the call
of the real tool, with its schema, its confirmation and its record. So the request's head stays the same for a whole
run, and a server's cache of it with that; and one step more is the most that a search costs.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from micro_agent.context.tokens import estimate
from micro_agent.tools.form import arguments_form
from micro_agent.tools.tool import Tool

SHARE = 10
"""Tools that take more than one part in so many of the context are deferred."""
_SHOWN, _MOST_SHOWN, _NAMED = 5, 1500, 15
_MOST_DESCRIBED = 120
_STEM, _ENDING = 4, 3
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def tokens_of(tools: Sequence[Tool]) -> int:
    """Estimated tokens of what a model is told of tools."""
    told = ({"name": t.name, "description": t.description, "parameters": t.schema.inlined} for t in tools)
    return sum(estimate(json.dumps(one)) for one in told)


def behind_a_search(tools: Mapping[str, Tool], servers: Sequence[str], context_length: int) -> Sequence[Tool]:
    """The tools themselves where they are few, else one that finds them and one that calls them."""
    if tokens_of(list(tools.values())) * SHARE <= context_length:
        return list(tools.values())
    described = {name: _words(f"{name} {tool.description}") for name, tool in tools.items()}
    rare = _rarity(list(described.values()))

    def find_tools(query: str) -> dict[str, Any]:
        wanted = _words(query)
        scores = {name: _score(wanted, words, _words(name), rare) for name, words in described.items()}
        best = sorted((name for name in tools if scores[name]), key=lambda name: -scores[name])
        return _told([tools[name] for name in best], len(tools))

    def call_tool(tool: str, arguments: dict[str, Any] | None = None) -> Any:
        return tools[tool].handler(**arguments or {})

    listed = ", ".join(servers[:10])
    return [
        Tool(
            "find_tools", f"Find {len(tools)} more tools by words: {listed}"[:_MOST_DESCRIBED],
            _object(query="string"), find_tools, read_only=True, timeout_s=None, max_chars=8000,
        ),
        Tool(
            "call_tool", "Call a found tool", _object(tool="string", arguments="object"),
            call_tool, behind=tools,
        ),
    ]  # fmt: skip


def _object(**types: str) -> dict[str, Any]:
    told = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": told, "required": list(told)[:1]}  # not each tool takes arguments


def _told(found: Sequence[Tool], of: int) -> dict[str, Any]:
    """What a search shows: the best with their schemas, as many as there is room for, and some more by name."""
    shown: list[dict[str, Any]] = []
    size = 0
    for tool in found[:_SHOWN]:
        one = {"name": tool.name, "description": tool.description[:300], "parameters": tool.schema.inlined}
        size += len(json.dumps(one))
        if shown and size > _MOST_SHOWN:
            break
        shown.append(one)
    if not shown:
        return {"tools": [], "note": f"None of {of} tools has these words; try other words."}
    first = shown[0]["name"], found[0].parameters
    form = arguments_form(first[1], 200)
    more = [tool.name for tool in found[len(shown) :][:_NAMED]]
    told: dict[str, Any] = {"tools": shown, **({"more": more} if more else {})}
    return {**told, "note": f'To call the first: call_tool with {{"tool": "{first[0]}", "arguments": {form}}}.'}


def _score(query: set[str], words: set[str], name: set[str], rare: Mapping[str, float]) -> float:
    """How well a tool fits: its rare words count, twice in its name, and less where it has many words."""
    hits = {word for word in words if any(_alike(word, wanted) for wanted in query)}
    return sum(rare[word] * (1 + (word in name)) for word in hits) / math.log(10 + len(words))


def _alike(word: str, wanted: str) -> bool:
    """Whether two words are one, or one but for how it ends (``file``, ``files``)."""
    short, long = sorted((word, wanted), key=len)
    return word == wanted or (len(short) >= _STEM and len(long) - len(short) <= _ENDING and long.startswith(short))


def _rarity(texts: Sequence[set[str]]) -> dict[str, float]:
    counted = Counter(word for words in texts for word in words)
    return {word: math.log(1 + len(texts) / count) for word, count in counted.items()}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_CAMEL.sub(" ", text).lower()))
