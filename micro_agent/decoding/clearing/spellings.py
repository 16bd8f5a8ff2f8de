"""Markup in another spelling than the dialects know it: other bars, a namespace, other letter case, escaped brackets.

    <｜｜DSML｜｜invoke name="f">   < | DSML | invoke name="f">   <ifm|tool_call>   <atem:invoke name="f">
    <TOOL_CALL>   &lt;tool_call&gt;   <tool_call:6124c78e>   <tool_call id="1">   ]<]minimax[>[<tool_call>

Some families write known forms in tokens of their own; these are spelled as what they mean: Kimi K3, PLaMo, Solar.
"""

import html
import json
import re
from collections.abc import Callable, Iterable

_BAR = "|｜‖│┃¦"
_WORD = r"(?:tool|function)(?:\\?_|[ -])calls?|invoke|parameter|param|function|arg\\?_(?:key|value|type)|tool_sep"
# Looked for first: a tag of ours is near, and it is none that the dialects know as it is.
_NEAR = (
    r"(?=[^<>＜＞]{0,24}?(?:tool|func|invoke|param|arg))"
    r"(?!(?-i:/?(?:(?:tool|function)_calls?|invoke|parameter|param|function|arg_key|arg_value)>))"
)
# A name before one of ours, as in LongCat's; words such as "function" are part of many other names.
_PREFIX = r"[A-Za-z]{2,12}_(?=(?:tool|function)_calls?\b|invoke\b|arg_(?:key|value)\b|parameter\b)"
_TAG = re.compile(
    rf"[<＜](?=[^<>＜＞]++[>＞]){_NEAR}(?P<slash>\s?/)?\s?"
    rf"(?P<space>(?:[{_BAR}]\s?){{0,2}}[A-Za-z]{{2,12}}\s?(?:[{_BAR}]\s?){{1,2}}|[A-Za-z]{{2,12}}:|{_PREFIX})?(?P<late>/)?"
    rf"(?P<word>{_WORD})(?P<suffix>:[0-9a-f]{{6,16}})?(?P<rest>(?:[\s=:Ġ]|(?=name=))[^<>＜＞]{{0,300}}|)"
    rf"(?(space)\s?[{_BAR}]{{0,2}}|)[>＞]",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\\?_|[ -]")
_IDENTITY = re.compile(r"""\s(?:id|type|index|call_id|tool_call_id)\s?=\s?(?:"[^"]*"|'[^']*')""")
_TOKEN = re.compile(
    rf"[<＜](?=[^<>＜＞]++[>＞])(?!\|?/?(?:\w{{9,20}}|\")\|?>)\s?(?P<before>[{_BAR}]\s?){{0,2}}"
    rf"(?P<word>/?(?:tool_calls?(?:_start|_end)?|python_tag)|\")\s?(?P<after>[{_BAR}]\s?){{0,2}}[>＞]"
)
_ESCAPED = rf"&lt;/?\s?(?:[{_BAR}]\s?){{{{0,2}}}}(?:DSML\b|(?:{_WORD}|{{0}})[\s=&])"
_JSON = re.compile(r"""\s*+(?:```\w*\s*+)?["'{]""")  # in a reply that begins like that, tags are data
_WRITTEN = re.compile(rf"<[/ {_BAR}]{{0,6}}\w")
_SENTINEL = re.compile(r"\]<\]\w{1,20}\[>\[(?=\s?<)")
_SENTINEL_CALL = re.compile(r"\[>\[\s?<(?:tool_call|invoke)")
_PLAMO = {
    "tool_requests": "tool_calls",
    "tool_request": "tool_call",
    "tool_name": "name",
    "tool_arguments": "arguments",
}
_SOLAR = {
    "tool_call:start": "<tool_call>",
    "tool_call:end": "</tool_call>",
    "tool_arg:start": "<arg_key>",
    "tool_arg:value": "</arg_key><arg_value>",
    "tool_arg:end": "</arg_value>",
    "think:start": "<think>",
    "think:end": "</think>",
}
_ATTRIBUTE = re.compile(r'(\w{1,20})="([^"]*)"')
_KIMI = {"tools": "tool_calls", "call": "invoke", "argument": "parameter", "think": "think"}

_MAX_OPEN = 2500
"""A reply with so many signs that may open a tag is a page, and each of them would be looked at."""
_MAX_TAGS = 1000
"""A reply with more tags in another spelling is none of calls."""
_STEMS = ("tool", "func", "invoke", "param", "arg", "<|open|>")

_Rule = tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _tag(found: re.Match[str]) -> str:
    word = _SPACE.sub("_", found["word"].lower())
    rest = found["rest"].replace("Ġ", " ")
    rest = f" {rest}" if rest.startswith("name=") else rest
    if "=" in rest and not word.startswith("param"):
        rest = _IDENTITY.sub("", rest)
    return f"<{'/' if found['slash'] or found['late'] else ''}{word}{rest}>"


def _token(found: re.Match[str]) -> str:
    before, after = found["before"], found["after"]
    return f"<{'|' if before else ''}{found['word']}{'|' if after else ''}>" if before or after else found[0]


def _kimi(found: re.Match[str]) -> str:
    slash, word, rest = "/" if found["kind"] == "close" else "", found["word"], found["rest"]
    if word not in _KIMI:
        return ""
    said = {key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in _ATTRIBUTE.findall(rest)}
    named = said.get("tool") or said.get("key")
    is_text = ' string="true"' if said.get("type") == "string" else ""
    return f'<{slash}{_KIMI[word]} name="{named}"{is_text}>' if named else f"<{slash}{_KIMI[word]}>"


def _plamo(found: re.Match[str]) -> str:
    return f"<{'/' if found[1] == 'end' else ''}{_PLAMO[found[2]]}>" if found[2] in _PLAMO else ""


# All of these without their brackets; what follows the name of an attribute says that they are tags.
_BARE_CALL = re.compile(r"^[ \t]{0,20}invoke name=[\"'][\w.:-]{1,128}[\"']>", re.MULTILINE)
_BARE_TAG = re.compile(
    r"^(?P<blank>[ \t]{0,20})(?P<open>(?:invoke|parameter) name=[\"'][^\"'\n]{1,128}[\"']>)"
    r"|(?<![<\w/])/?(?P<alone>invoke|parameter)>[ \t]*+$|(?<![</])/?(?P<close>parameter)>[ \t]*+$",
    re.MULTILINE,
)


def _bracketed(found: re.Match[str]) -> str:
    return f"{found['blank']}<{found['open']}" if found["open"] else f"</{found['alone'] or found['close']}>"


_RULES: tuple[_Rule, ...] = (
    ("<|plamo:", re.compile(r"(?<![\"'])<\|plamo:(begin|end)_(\w{1,20}):plamo\|>"), _plamo),
    (":start|>", re.compile(rf"<\|({'|'.join(_SOLAR)})\|>"), lambda found: _SOLAR[found[1]]),
    (
        "<|sep|>",
        re.compile(r"(?<![\"'])<\|(?P<kind>open|close)\|>(?P<word>[a-z]{1,20})(?P<rest>(?:\s[^<>]{0,300})?)<\|sep\|>"),
        _kimi,
    ),
    (">", _TAG, _tag),
    (">", _TOKEN, _token),
    ("<arg_type>", re.compile(r"(?<=</arg_key>)\s{0,9}<arg_type>\w{1,20}</arg_type>\s{0,9}"), ""),
    ("<tool_sep>", re.compile(r"(?<=\w)<tool_sep>(?=\s{0,9}<)"), "\n"),
)


def _is_escaped(text: str, names: Iterable[str]) -> bool:
    """Whether the markup as a whole is escaped for HTML, and not a tag in a value."""
    tag = re.search(_ESCAPED.format("|".join(map(re.escape, names)) or "function"), text)
    return tag is not None and not _WRITTEN.search(text) and not any(sign in text[: tag.start()] for sign in "{[")


def respelled(text: str, names: Iterable[str]) -> str | None:
    """``text`` with its markup as the dialects know it; ``None`` when it is so already.

    Args:
        text: The reply.
        names: The tools, which may be tags themselves.
    """
    if "&quot;" in text and '"' not in text:
        return html.unescape(text)
    if _JSON.match(text) or text.count("<") > _MAX_OPEN:
        return None
    again = html.unescape(text) if "&lt;" in text and _is_escaped(text, names) else text
    if "[>[" in again and _SENTINEL_CALL.search(again):
        again = _SENTINEL.sub("", again)
    lowered = again.lower()
    mentions = any(word in lowered for word in _STEMS)
    if "invoke name=" in again and "<invoke" not in again and _BARE_CALL.search(again):
        again = _BARE_TAG.sub(_bracketed, again)
    for sign, pattern, spelled in _RULES:
        if mentions and sign in again:
            again, count = pattern.subn(spelled, again, _MAX_TAGS + 1)
            if count > _MAX_TAGS:
                return None
    return again if again != text else None


def stands_in(value: str, text: str) -> bool:
    """Whether a value that was read in the respelled text stands in the reply as it came: no tag in it changed."""
    written = (value, *(json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)))
    return any(form in text for form in written)
