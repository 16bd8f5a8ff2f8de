"""JSON that is nearly JSON, read by what each slip is: nothing in these readers is a guess.

Each takes the text and the allowance, returns the value, and raises `Unreadable` when the slip is another one.
"""

import ast
import json
import re
from typing import Any

from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.strict import Allowance, GivenTwice, Unreadable, exact, once

_CONTROL = re.compile(r"[\x00-\x1f]")


def control_characters(text: str, _: Allowance) -> Any:
    """Raw line breaks and tabs inside texts."""
    return changed(text if _CONTROL.search(text) else None)


def changed(after: str | None) -> Any:
    """``after`` as JSON with raw control characters, if there was anything to change."""
    if after is None:
        raise Unreadable("nothing to change")
    return exact(after, strict=False)


def escapes(text: str, _: Allowance) -> Any:
    """Backslashes that begin no escape of JSON."""
    legal = legal_escapes(text)
    return changed(legal if legal != text else None)


STRING = r'"[^"\\]*(?>(?:\\.[^"\\]*)*)"?'  # or up to the end: were the last quote wanted, the time would be quadratic
_COMMA_LAST = re.compile(r",(?=\s*+[}\]])")
_TRAILING_COMMA = re.compile(rf"({STRING})|,(?=\s*+[}}\]])", re.DOTALL)


def trailing_commas(text: str, _: Allowance) -> Any:
    """Commas before a closing bracket."""
    if not _COMMA_LAST.search(text):
        raise Unreadable("nothing to change")
    legal = legal_escapes(text)
    without = _TRAILING_COMMA.sub(lambda match: match[1] or "", legal)
    return changed(without if without != legal else None)


# Each branch begins with a character or a set, and what stands before that is asked after it: `re` is fast with these.
_LOOSE_PART = re.compile(
    rf"(?P<string>{STRING})|[“„](?P<smart>[^“”„\"\\]*)[“”]|”(?<=[:\[,{{\s]”)(?P<right>[^“”\"\\]*)”|‘(?P<curly>[^‘\"\\\n]{{0,2000}}?)’(?=\s*+[,:}}\]，：])"
    r"|'(?<=[{\[(,:\s]')(?P<single>[^'\"\\\n]*+)'(?=\s*+[,:}\]])|(?P<wide>[，：])"
    r"|(?P<blank>[\u00a0\u200b\u2028\u2029\u3000\ufeff]+)|(?P<comment>//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<key>[A-Za-z_](?<![\w-][A-Za-z_])[\w-]*+)(?=\s*+[:：])|(?P<word>[TFN](?<!\w[TFN])(?:rue|alse|one)\b)"
    r"|\+(?<=[:\[,\s]\+)(?P<plus>\d)|(?P<point>\.(?<=[:\[,\s]\.)(?=\d))",
    re.DOTALL,
)
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}


def loose_json(text: str, allowance: Allowance) -> Any:
    """Comments, keys without quotes, other quotes around text without quotes in it, Python's words, odd blanks."""
    if not allowance.spend(len(text) // 8 + sum(map(text.count, "'\"“,")) // 2):
        raise Unreadable("too many quotes")
    legal = legal_escapes(text)
    tight = tightened(legal)
    return changed(tight if tight != legal else None)


def tightened(text: str) -> str:
    """``text`` with the words, quotes and signs of JSON for those that are nearly the same."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or "", _LOOSE_PART.sub(_as_json, text))


def _as_json(part: re.Match[str]) -> str:
    if part["string"] is not None:
        return part["string"]
    if part["word"] is not None:
        return _JSON_WORDS.get(part["word"], part["word"])
    if part["blank"] is not None:
        return " "
    if part["wide"] is not None:
        return {"，": ",", "：": ":"}[part["wide"]]
    if part["plus"] is not None or part["point"] is not None:
        return part["plus"] or "0."
    text = next((part[kind] for kind in ("smart", "right", "curly", "single", "key") if part[kind] is not None), None)
    return "" if text is None else f'"{text}"'


_PYTHON_ESCAPE = re.compile(r"\\[\\'\"abfnrtvxuUN]")
_PYTHON_STRING = re.compile(r"""'[^'\\\n]*(?>(?:\\.[^'\\\n]*)*)'?|"[^"\\\n]*(?>(?:\\.[^"\\\n]*)*)"?""")
_PYTHON_REST = re.compile(
    # A text that goes on in the next line is one text as a value; in a list it may be two that lack a comma.
    r"(?>(?::\s*+''(?>(?:[ \t]*+\n\s*+'')*)(?!\s*+')|''(?!\s*+')"
    r"|(?:True|False|None|true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b|[\s{}\[\](),:])*)"
)
_JSON_WORD = re.compile(rf"({_PYTHON_STRING.pattern})|\b(?:true|false|null)\b")
_PYTHON_WORDS = {"true": "True", "false": "False", "null": "None"}


def python_literal(text: str, allowance: Allowance) -> Any:
    """A Python dict or list. What the compiler would warn of, and strings beside each other, are not tried."""
    rest = _PYTHON_STRING.sub("''", text)
    if "\\" in _PYTHON_ESCAPE.sub("", text) or not _PYTHON_REST.fullmatch(rest) or not allowance.spend(len(text)):
        raise Unreadable("no plain Python literal")
    words = _JSON_WORD.sub(lambda match: match[1] or _PYTHON_WORDS[match[0]], text)
    try:
        tree = ast.parse(words.strip(), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                once(
                    [(ast.dump(key), ast.dump(value)) for key, value in zip(node.keys, node.values, strict=True) if key]
                )
        return exact(json.dumps(ast.literal_eval(tree)))
    except GivenTwice:
        raise
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Unreadable("no plain Python literal") from None
