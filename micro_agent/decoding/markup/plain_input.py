"""What stands behind a label such as ``Action Input:``: JSON, pairs of names and values, or a text for one argument."""

import re
from contextlib import suppress
from typing import Any

from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.calls import arguments
from micro_agent.decoding.repair.mending import Unreadable, exact, mend
from micro_agent.decoding.scan.values import Unfinished, value_at

_PAIR = re.compile(r"""[ \t]*+(?:[-*][ \t])?["']?(?P<key>\w{1,64})["']?[ \t]*+[:=][ \t]*+(?P<value>[^\s][^\n]*+)""")
_NEXT = re.compile(r"\n|,[ \t]*+(?=\w+[ \t]*+=)")
_QUOTE = re.compile(r"""["'`“”(\[{]""")
_FENCE = re.compile(r"\s*+(?:```\w*\s*+|`(?=\{))?")
_OBJECT = re.compile(r"""\{|\[\s{0,9}\{|["']\s{0,9}\{\s{0,9}(?:\\?["']|\})""")
_NOTHING = frozenset({"", "none", "null", "n/a", "no input", "{}", '""', "''"})


def input_at(page: Page, name: str, start: int, stop: re.Pattern[str]) -> tuple[Any, int]:
    """What follows the label, and where it ends: at ``stop`` or at the end of the text.

    Args:
        page: What is read.
        name: The tool that is meant.
        start: Where the label ends.
        stop: What begins a line that is not part of the input.

    Raises:
        Unreadable: It is an object or a quoted text that makes no sense.
        Unfinished: The text ends inside it.
    """
    at = _FENCE.match(page.text, start).end()  # pyright: ignore[reportOptionalMemberAccess] it matches nothing as well
    if _OBJECT.match(page.text, at):
        value, end, _ = value_at(page, at, found.start() if (found := stop.search(page.text, at)) else None)
        return value, end
    stopped = stop.search(page.text, start)
    if stopped is None and page.cut_off:
        raise Unfinished
    end = stopped.start() if stopped else len(page.text)
    said = page.text[at:end].strip().removesuffix("```").strip()
    return plain_input(page, name, said), end


def plain_input(page: Page, name: str, said: str) -> Any:
    """The arguments in ``said``, which is not a JSON object; the text itself where nothing says what it is.

    Raises:
        Unreadable: It begins with a quote or a key and makes no sense.
    """
    if said.strip("'\"").lower() in _NOTHING:
        return {}
    if (pairs := _pairs(page, name, said)) is not None:
        return pairs
    key = only_text(page.offer, page.offer.resolve(name) or "")
    return {key: unquoted(said)} if key else said


def bracketed(page: Page, name: str, said: str) -> Any:
    """What stands in ``name[text]`` or ``name(text)``, the brackets with it.

    Raises:
        Unreadable: There are no such brackets, or nothing says which argument the text is.
    """
    if not said.endswith({"[": "]", "(": ")"}.get(said[:1], " ")):
        raise Unreadable("its input is not a JSON object")
    inner = said[1:-1].strip()
    if inner.startswith("{"):
        return mend(inner, page.offer.allowance)[0]
    found = plain_input(page, name, inner)
    if isinstance(found, str) or (said[0] == "(" and _QUOTE.search(inner)):
        raise Unreadable("its input is not a JSON object")
    return found


def _pairs(page: Page, name: str, said: str) -> dict[str, Any] | None:
    """The arguments in ``city="Rome", days=3`` or in lines such as ``city: Rome``; ``None`` where no key is named.

    Raises:
        Unreadable: It begins with a key and does not go on like that.
    """
    tool = page.offer.resolve(name) or ""
    keys = page.offer.properties(tool)
    first = _PAIR.match(said)
    if first is None or first["key"] not in keys:
        return None
    quoted = _QUOTE.search(said) is not None  # a comma may be part of a value then
    parts = said.split("\n") if quoted else _NEXT.split(said)
    found = [_PAIR.fullmatch(part) for part in parts if part.strip()]
    pairs = {pair["key"]: pair["value"].strip() for pair in found if pair and not _NEXT.search(pair["value"])}
    if len(pairs) == len(found) and pairs.keys() <= keys:
        offer = page.offer
        return {key: typed(unquoted(value), offer.types(tool, key), offer.allowance) for key, value in pairs.items()}
    return arguments(f"({said})", page.offer.allowance)[1]


def unquoted(said: str) -> str:
    r"""A value without its quotes; in double ones ``\"`` and ``\n`` are escapes, as in JSON and YAML.

    Raises:
        Unreadable: The quote at its beginning has no second one at its end, or it is more than one text.
    """
    if said[:1] not in ('"', "'", "`"):
        return said
    if len(said) < 2 or said[-1] != said[0]:
        raise Unreadable("its input begins with a quote and has no second one")
    with suppress(Unreadable):
        return str(exact(said, strict=False))
    if f"{said[0]},{said[0]}" in said.replace(" ", ""):
        raise Unreadable("its input is more than one text")
    return said[1:-1]


def only_text(offer: Offer, name: str) -> str | None:
    """The argument that a bare text is meant for: the only one of the tool, or the only required one, if a text."""
    tool, keys = offer.tool(name), offer.properties(name)
    required = keys.intersection(tool.parameters.get("required") or ()) if tool and keys else keys
    key = next(iter(required or keys), "")
    return key if len(required or keys) == 1 and list(offer.types(name, key)) == ["string"] else None
