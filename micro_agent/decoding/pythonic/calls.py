"""Calls written in Python's syntax, read through ``ast`` and never evaluated.

Names are set aside first: tools and arguments may be called ``from`` or ``get-weather``. What is left must consist of
calls, literals and JSON words, so that the parser meets nothing that it would warn of.
"""

import ast
import json
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.decision import MAX_DEPTH
from micro_agent.decoding.pythonic.slips import with_usual_signs
from micro_agent.decoding.repair.mending import Allowance, Unreadable, exact

# A string that nothing closes reaches to the end: were the closing quote wanted, the time would be quadratic.
STRING = re.compile(
    r"""(?P<raw>\b[rR])?(?:"{3}(?P<a>(?>(?:[^"\\]++|\\.|"(?!""))*))(?P<a_end>"{3})?"""
    r"""|'{3}(?P<b>(?>(?:[^'\\]++|\\.|'(?!''))*))(?P<b_end>'{3})?"""
    r"""|"(?P<c>[^"\\]*(?>(?:\\.[^"\\]*)*))(?P<c_end>")?|'(?P<d>[^'\\]*(?>(?:\\.[^'\\]*)*))(?P<d_end>')?"""
    r"""|“(?P<e>[^“”]*+)(?P<e_end>”)?)|(?P<comment>#[^\n]*+)""",
    re.DOTALL,
)
# Brackets, and all that STRING finds. The first character is one set, since `re` skips text fast only to such a
# beginning.
_TOKEN = re.compile(
    r"""[][(){}"'“#](?:(?<=[][(){}])"""
    r"""|(?<=")(?:""(?>(?:[^"\\]++|\\.|"(?!""))*)(?P<a_end>"{3})?|[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?P<c_end>")?)"""
    r"""|(?<=')(?:''(?>(?:[^'\\]++|\\.|'(?!''))*)(?P<b_end>'{3})?|[^'\\]*+(?>(?:\\.[^'\\]*+)*)(?P<d_end>')?)"""
    r"""|(?<=“)[^“”]*+(?P<e_end>”)?|(?<=\#)[^\n]*+)""",
    re.DOTALL,
)
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_PARTNER = {")": "(", "]": "[", "}": "{"}
_MAX_TOKENS = 4_000
_MAX_BARE = 15_000
"""Characters outside strings: the time depends on these."""
_NAME = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*+)(?=\s{0,9}(?:\(|=(?!=)))")
# A name of a place or of a person without quotes; a word in small letters may as well be a variable.
_UNQUOTED = re.compile(
    r"(?<=\x00=)(?!(?:True|False|None)\b)([A-Z][^\W\d_]{0,40}+(?<=[a-z])(?:[ -][^\W\d_]{1,30}+){0,4})(?=[,)])"
)
_ZEROS = re.compile(r"(?<![\w.\x00+-])[-+]?0\d{1,30}+(?![\w.\x00])")
"""Python has no such number: as text it is one for an argument that is a number, and ``007`` for one that is a text."""
_PREFIX = re.compile(r"(?<![\w\x00])(?:await|return)[ ](?=[ ]{0,3}\x00n)")
_WRAPPERS = frozenset({"print", "python", "str", "repr", "display", "run", "asyncio.run", "json.dumps"})
_PLAIN = re.compile(
    r"(?>(?:\x00s\d+\x00(?!\s*\x00)|\x00n\d+\x00|[-+]?(?:\d(?>(?:_?\d)*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\b\.?(?!\x00)"
    r"|\b(?:True|False|None|true|false|null)\b(?!\x00)|(?<=[(,\s])\*\*(?=\{)|[\s{}\[\](),:;=])*)"
)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": ""}
_ESCAPE = re.compile(r"\\(?:[\\'\"abfnrtv\n]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5}|[0-7]{1,3})|\\")


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call as it is written: the name, and the arguments by place and by keyword."""

    name: str
    positional: list[Any] = field(default_factory=list[Any])
    keywords: dict[str, Any] = field(default_factory=dict[str, Any])


def python_calls(text: str, allowance: Allowance) -> list[PythonCall]:
    """The calls that ``text`` consists of: one, a list of them, or one after the other; ``x = f()`` and ``print(f())``.

    Raises:
        Unreadable: It is anything else, or would take too long.
    """
    if "\x00" in text:
        raise Unreadable("it is not a plain Python call")
    strings: list[str] = []
    names: list[str] = []
    bare = STRING.sub(lambda match: "" if match["comment"] else _kept(strings, _content(match), "s"), text)
    if len(bare) > _MAX_BARE:
        raise Unreadable("it is too long")
    bare = _NAME.sub(lambda match: _kept(names, match[1], "n"), bare)
    bare = with_usual_signs(_PREFIX.sub("", bare), strings, names)
    bare = _UNQUOTED.sub(lambda match: _kept(strings, match[1], "s"), bare)
    bare = _ZEROS.sub(lambda match: _kept(strings, match[0], "s"), bare)
    if not _PLAIN.fullmatch(bare) or not allowance.spend(2 * len(bare) + len(text) // 50):
        raise Unreadable("it is not a plain Python call")
    try:
        tree = ast.parse(bare.replace("\x00s", "S").replace("\x00n", "N").replace("\x00", "x").strip())
        found = [call for line in tree.body for call in _Reading(strings, names).line(line)]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Unreadable("it is not a plain Python call") from None
    if not found:
        raise Unreadable("there is no call in it")
    return found


def extent(text: str, start: int) -> int | None:
    """Where the call or list that begins at ``start`` ends; ``None`` when nothing ends it, or only after too much."""
    stack: list[str] = []
    for token in islice(_TOKEN.finditer(text, start), _MAX_TOKENS):
        mark = token[0][-1] if len(token[0]) == 1 else ""
        if mark and mark in _PARTNER:
            if not stack or stack.pop() != _PARTNER[mark]:
                return None
            if not stack:
                return token.end()
        elif mark in ("(", "[", "{"):
            stack.append(mark)
    return None


def missing(text: str) -> str | None:
    """The brackets that a call or list lacks at its very end; ``None`` when it lacks anything else.

    What stands before them must be whole: a text with its second quote, or another bracket.
    """
    stack: list[str] = []
    if text[-1:] not in ('"', "'", ")", "]", "}"):
        return None
    for token in islice(_TOKEN.finditer(text), _MAX_TOKENS):
        mark = token[0]
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
        elif mark in _PARTNER:
            if not stack or stack.pop() != mark:
                return None
        elif mark[0] == "#" and token.end() < len(text):
            continue  # one at the very end would hold what closes the call
        elif not any(token[f"{kind}_end"] for kind in "abcde"):
            return None
    return "".join(reversed(stack))


def _kept(store: list[str], value: str, kind: str) -> str:
    store.append(value)
    return f"\x00{kind}{len(store) - 1}\x00"


def _content(match: re.Match[str]) -> str:
    kind = next(group for group in "abcde" if match[group] is not None)
    if match[f"{kind}_end"] is None:
        raise Unreadable("a text in it has no end")
    return match[kind] if match["raw"] else _ESCAPE.sub(_escaped, match[kind])


def _escaped(match: re.Match[str]) -> str:
    """What an escape stands for; one that Python does not know is a backslash that is meant as one."""
    sign, code = match[0][1:2], match[0][2:]
    if sign in _LETTERS:
        return _LETTERS[sign]
    if sign.isdigit():
        return chr(int(match[0][1:], 8))
    return chr(int(code, 16)) if code else sign or "\\"


@dataclass(frozen=True, slots=True)
class _Reading:
    strings: list[str]
    names: list[str]

    def line(self, line: ast.stmt) -> list[PythonCall]:
        if isinstance(line, ast.Assign | ast.Expr):
            return self.calls(line.value)
        raise Unreadable("it is more than calls")

    def calls(self, node: ast.expr) -> list[PythonCall]:
        if isinstance(node, ast.List | ast.Tuple):
            return [call for item in node.elts for call in self.calls(item)]
        if not isinstance(node, ast.Call):
            raise Unreadable("it is more than calls")
        name = self.name(node.func)
        if name in _WRAPPERS and len(node.args) == 1 and isinstance(node.args[0], ast.Call) and not node.keywords:
            return self.calls(node.args[0])
        given = [pair for item in node.keywords for pair in self.keyword(item)]
        keywords = dict(given)
        if len(keywords) < len(given):
            raise Unreadable("an argument is given twice")
        return [PythonCall(name, [self.value(item) for item in node.args], keywords)]

    def name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and node.id.startswith("N"):
            return self.names[int(node.id[1:-1])]
        raise Unreadable("it is more than calls")

    def keyword(self, item: ast.keyword) -> list[tuple[str, Any]]:
        """The argument, or all of those in the object behind ``**``."""
        value = self.value(item.value)
        if item.arg is not None:
            return [(self.names[int(item.arg[1:-1])], value)]  # all names were set aside
        given = cast("dict[str, Any]", value)  # the stars are let through before an object alone
        if not all(key.isidentifier() for key in given):
            raise Unreadable("a key is not the name of an argument")
        return list(given.items())

    def value(self, node: ast.expr) -> Any:
        return exact(json.dumps(self.literal(node, MAX_DEPTH)))

    def literal(self, node: ast.expr, depth: int) -> Any:
        if depth == 0:
            raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, ast.Name):
            return self.strings[int(node.id[1:-1])] if node.id[0] == "S" else _WORDS[node.id]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            number = cast("int | float", node.operand.value)
            return -number if isinstance(node.op, ast.USub) else number
        if isinstance(node, ast.List | ast.Tuple):
            return [self.literal(item, depth - 1) for item in node.elts]
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Name) and key.id[0] == "S" for key in node.keys):
            keys = [self.literal(cast("ast.expr", key), depth) for key in node.keys]
            if len(set(keys)) < len(keys):
                raise Unreadable("a key is given twice")
            return dict(zip(keys, [self.literal(item, depth - 1) for item in node.values], strict=True))
        raise Unreadable("an argument is not a literal")
