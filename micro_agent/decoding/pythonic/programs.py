"""Programs in Python that call tools, where a weak model should have made one call. They are parsed, never run.

What a user may have asked for looks alike, so a program counts only where nothing else is likely: it calls tools by
their own names with values that stand in it, does more with them than one call could, and defines and imports nothing
that a program for a user would.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from typing import cast

from micro_agent.decoding.offer import Offer
from micro_agent.decoding.pythonic.calls import STRING

_MAX_LENGTH = 12_000
_MAX_BARE = 6_000
_MAX_DEPTH = 12
_NUMBER = re.compile(r"(?<![\w.])\.?\d[\w.]*+")
_FIELD = re.compile(r"\{\s{0,9}([A-Za-z_]\w{0,64})")
_TEMPLATE = re.compile(
    r"""[=(,]\s{0,9}["'](?:\.{3}|…|<[^<>\n]{0,60}>|(?:your|some|my)[ _-]|[A-Z]+(?:_[A-Z]+)+["'])""", re.IGNORECASE
)
_WRAPPERS = frozenset({"print", "str", "repr", "display", "run", "dumps", "list", "dict"})
_SPACES = frozenset({"functions", "tools", "tool", "default_api", "api"})
_MODULES = frozenset({"json", "asyncio", "datetime", "re", "math", "time", "typing", *_SPACES})
_FOREIGN = (ast.ClassDef, ast.Assert, ast.Lambda, ast.Global, ast.Yield)
_BUILTINS = frozenset(dir(builtins))
_BLOCKS = ("body", "orelse", "finalbody")

_Call = tuple[str, ast.Call, bool]


def tool_in_program(code: str, offer: Offer) -> str | None:
    """The tool that ``code`` calls first, if it is a program that a model wrote to use its tools; else ``None``."""
    names = frozenset(offer.names or ()) - _BUILTINS
    tree = _parsed(code, offer) if len(code) <= _MAX_LENGTH and not _TEMPLATE.search(code) else None
    if tree is None or any(_is_foreign(node, names) for node in ast.walk(tree)):
        return None
    known, results = _assigned(tree, names)
    calls = list(_calls(tree.body, names, within=False))
    if not calls or not _is_given(calls[0], known, offer):
        return None
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    linked = used & results or used & known
    several = len({name for name, _, _ in calls}) > 1
    return calls[0][0] if several or linked or any(within for _, _, within in calls) else None


def _parsed(code: str, offer: Offer) -> ast.Module | None:
    """The tree of ``code`` without its texts and numbers: a parser warns of odd ones, and none of them matters."""
    bare = STRING.sub(lambda text: "" if text["comment"] else _stand_in(text), code)
    bare = _NUMBER.sub("0", bare).strip()
    if len(bare) > _MAX_BARE or _depth(bare) > _MAX_DEPTH or not offer.allowance.spend(2 * len(bare) + len(code) // 50):
        return None
    try:
        return ast.parse(bare)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _stand_in(text: re.Match[str]) -> str:
    """An empty text, or one with the names in the braces of an f-string; without its end, what no program has."""
    if not any(text[f"{kind}_end"] for kind in "abcde"):
        return "?"
    fields = _FIELD.findall(text[0]) if text.string[text.start() - 1 : text.start()] in ("f", "F") else []
    return '"' + "".join(f"{{{name}}}" for name in fields) + '"'


def _depth(bare: str) -> int:
    """How deep brackets are nested: the parser takes exponential time for some that are deep and wrong."""
    depth = most = 0
    for sign in re.findall(r"[][(){}]", bare):
        depth += 1 if sign in "([{" else -1
        most = max(most, depth)
    return most


def _is_foreign(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether a program for a user is likely: it defines a tool, tests, takes input, or imports more than the usual."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        takes = [*node.args.args, *node.args.posonlyargs, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        return node.name in names or node.name.startswith("test") or bool(node.decorator_list or any(takes))
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] not in _MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] not in _MODULES
    return isinstance(node, _FOREIGN) or (isinstance(node, ast.Name) and node.id in ("input", "open", "exec", "eval"))


def _statements(body: Sequence[ast.stmt], *, within: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements, and whether each is in a block that only stands around calls: ``def main()``, ``if True``."""
    for line in body:
        yield line, within
        inside = within or _stands_around(line)
        for block in _BLOCKS:
            yield from _statements(cast("list[ast.stmt]", getattr(line, block, [])), within=inside)


def _stands_around(line: ast.stmt) -> bool:
    if isinstance(line, ast.If):
        test = line.test.left if isinstance(line.test, ast.Compare) else line.test
        return isinstance(test, ast.Constant) or (isinstance(test, ast.Name) and test.id == "__name__")
    return isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef | ast.Try | ast.For)


def _assigned(tree: ast.Module, names: frozenset[str]) -> tuple[set[str], set[str]]:
    """The names that hold values written in the program, and those that hold what a tool returned."""
    known: set[str] = set()
    results: set[str] = set()
    for line, _ in _statements(tree.body, within=False):
        if isinstance(line, ast.For) and isinstance(line.target, ast.Name) and _is_literal(line.iter, known):
            known.add(line.target.id)
        elif isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
            target = line.targets[0] if isinstance(line, ast.Assign) else line.target
            called, written = _tool_call(line.value, names) is not None, _is_literal(line.value, known)
            if isinstance(target, ast.Name) and (called or written):
                (results if called else known).add(target.id)
    return known, results


def _calls(body: Sequence[ast.stmt], names: frozenset[str], *, within: bool) -> Iterator[_Call]:
    """The calls of tools that are statements or are assigned or returned, and whether a block stands around each."""
    for line, inside in _statements(body, within=within):
        value = line.value if isinstance(line, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return) else None
        if value is not None and (call := _tool_call(value, names)) is not None:
            yield *call, inside


def _tool_call(node: ast.expr, names: frozenset[str]) -> tuple[str, ast.Call] | None:
    """The call of a tool that ``node`` is, also in ``print(…)``, ``await`` and with ``["key"]`` behind it."""
    while True:
        if isinstance(node, ast.Await | ast.Subscript):
            node = node.value
        elif not isinstance(node, ast.Call):
            return None
        elif (name := _name(node.func)) in names:
            return name, node
        elif name in _WRAPPERS and node.args:
            node = node.args[0]
        else:
            return None


def _name(function: ast.expr) -> str:
    """The name that is called; of ``tools.name`` and ``json.dumps`` the last part, of other objects' methods none."""
    if isinstance(function, ast.Name):
        return function.id
    of = function.value if isinstance(function, ast.Attribute) else None
    usual = isinstance(of, ast.Name) and of.id in _MODULES
    return cast("ast.Attribute", function).attr if usual else ""


def _is_given(call: _Call, known: set[str], offer: Offer) -> bool:
    """Whether all arguments stand in the program, and those with names are the tool's own."""
    name, node, _ = call
    given = [*node.args, *(item.value for item in node.keywords)]
    own = offer.properties(name)
    named = all(item.arg is None or item.arg in own for item in node.keywords)
    return bool(given) and named and all(_is_literal(value, known) for value in given)


def _is_literal(node: ast.expr, known: set[str]) -> bool:
    """Whether a value is written there, or is a name for one that is."""
    for part in ast.walk(node):
        usual = isinstance(part, ast.List | ast.Tuple | ast.Dict | ast.UnaryOp | ast.unaryop | ast.expr_context)
        held = isinstance(part, ast.Name) and part.id in known
        written = isinstance(part, ast.Constant) and part.value is not ...
        if not (usual or held or written):
            return False
    return True
