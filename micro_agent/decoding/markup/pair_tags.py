"""Tags of keys and values that a model doubled, left out or took another one for, as they should stand.

    <tool_call>f<arg_key><arg_key>city</arg_key>…   <tool_call>fcity</arg_key>…   <tool_call>f city</arg_key>…
    <tool_call>f<tool_call>city</arg_key>…          …</arg_value>days</arg_key>…  …</arg_value></arg_value>…

A key without its opening tag counts only where the tool has an argument of this name.
"""

import re

from micro_agent.decoding.offer import Offer

_CALL = r"<(?:[a-z]{1,20}_)?(?:tool_calls?|function_calls?)>"
_WORD = r"[A-Za-z_][\w.-]{0,127}+"
_DOUBLED = re.compile(r"<(arg_key|arg_value)>(?>(?:\s{0,9}<\1>){1,3})|</(arg_key|arg_value)>(?>(?:\s{0,9}</\2>){1,3})")
_FIRST = re.compile(
    rf"(?P<before>{_CALL}\s{{0,9}})(?P<name>{_WORD})(?P<between>\s{{0,9}}(?:</?(?:tool_call|arg_value|name)>)?\s{{0,9}})"
    rf"(?P<key>{_WORD})?(?=\s{{0,9}}</arg_key>\s{{0,9}}<arg_value>)"
)
_NEXT = re.compile(
    rf"(?P<before></arg_value>)\s{{0,9}}(?:<(?:tool_call|arg_value)>\s{{0,9}})?(?P<key>{_WORD})"
    r"(?=\s{0,9}</arg_key>\s{0,9}<arg_value>)"
)


def with_pair_tags(text: str, offer: Offer) -> str:
    """``text`` with the tags as they should stand; itself where they do."""
    once = _DOUBLED.sub(lambda tag: f"<{tag[1]}>" if tag[1] else f"</{tag[2]}>", text)
    if offer.tools is None:
        return once
    called: list[str] = []
    once = _FIRST.sub(lambda found: _first(found, offer, called), once)
    known = _known(called, once, offer)
    return _NEXT.sub(
        lambda found: f"{found['before']}<arg_key>{found['key']}" if found["key"] in known else found[0], once
    )


_NAMED = re.compile(rf"{_CALL}\s{{0,9}}(?P<name>{_WORD})")


def _known(called: list[str], text: str, offer: Offer) -> frozenset[str]:
    """The arguments of the tools that are called, else of the first one that is named."""
    named = None if called else _NAMED.search(text)
    names = [offer.resolve(named["name"]) or ""] if named else called
    return frozenset(key for name in names for key in offer.properties(name))


def _first(found: re.Match[str], offer: Offer, called: list[str]) -> str:
    """The name and the first key, where a tool has both names."""
    name, key = found["name"], found["key"]
    if key is None:
        glued = [tool for tool in offer.names or () if name.startswith(tool) and len(name) > len(tool)]
        pairs = [(tool, name[len(tool) :]) for tool in glued if name[len(tool) :] in offer.properties(tool)]
    else:
        tool = offer.resolve(name)
        pairs = [(tool, key)] if tool is not None and key in offer.properties(tool) else []
    if len(pairs) != 1:
        return found[0]
    called.append(pairs[0][0])
    return f"{found['before']}{pairs[0][0]}<arg_key>{pairs[0][1]}"
