"""No pattern of the package has a possessive quantifier on a group: before Python 3.11.5 `re` matches too much there.

``(?:ab?c)*+`` takes four characters of ``abca`` (CPython gh-106052); ``(?>(?:ab?c)*)`` takes three everywhere.
Looked at are the literals that patterns are written in, which also finds what is compiled late, and the patterns that
an import compiles, which also finds what is put together of pieces.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tests.warm import Warm

ROOT = Path(__file__).resolve().parents[1]
FIELD = "\0"  # stands for what a field of an f-string puts in, which may be a group
POSSESSIVE = r"(?:[*+?]|\{{1,2}\d*,?\d*\}{1,2})\+"
# After the end of a group, or of a field that is filled in later, or where the literal goes on from another. Three of +
# begin a line of a diff.
ON_A_GROUP = re.compile(
    rf"(?:(?:(?<!\\)(?:\\\\)*\)|{FIELD}|(?<!\{{)\{{[a-z_]*\}})\s*{POSSESSIVE}|\A(?:[*+?]|\{{\d*,?\d*\}})\+)(?!\+)"
)
# What a literal must have, or literals one after the other: the other modules are not parsed.
POSSIBLE = re.compile(rb"""[*+?}](?:["']\s*[bfru]{0,2}["'])*\+""", re.IGNORECASE)
COMPILED = """
import importlib, pkgutil, re, sys
from re import _compiler, _constants, _parser

CHARACTERS = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN}
compile_pattern = _compiler.compile
seen = {}

def watched(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"].partition(".")[0] == "re":
        frame = frame.f_back
    seen[str(getattr(pattern, "pattern", pattern)), int(flags)] = frame.f_globals["__name__"]
    return compile_pattern(pattern, flags)

def repeats(node):
    # What stands under possessive quantifiers, all the way down.
    if isinstance(node, tuple) and len(node) == 2 and node[0] is _constants.POSSESSIVE_REPEAT:
        yield node[1][2]
    if isinstance(node, (tuple, list, _parser.SubPattern)):
        for part in node:
            yield from repeats(part)

_compiler.compile = watched
re.purge()  # else what this process has compiled before would not be seen
exec(sys.argv[1])
package = importlib.import_module("micro_agent")
for module in pkgutil.walk_packages(package.__path__, "micro_agent."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
ours = [(name, *what) for what, name in seen.items() if name.startswith(("micro_agent", "__main__"))]
for name, pattern, flags in ours:
    if any(len(part) != 1 or part[0][0] not in CHARACTERS for part in repeats(_parser.parse(pattern, flags))):
        print(f"{name}: {pattern}")
print(len(ours))
"""


def literals(tree: ast.AST) -> Iterator[str]:
    """Every string of a module; of an f-string the whole of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else FIELD for piece in node.values)


def texts(data: Any) -> Iterator[str]:
    """Every string in the data of a file."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        yield from (text for value in cast("dict[str, Any]", data).values() for text in texts(value))
    elif isinstance(data, list):
        yield from (text for value in cast("list[Any]", data) for text in texts(value))


def written(path: Path) -> Iterator[str]:
    """The strings of one file of the package in which a pattern can stand."""
    if path.suffix == ".py":
        source = path.read_bytes()
        yield from literals(ast.parse(source, str(path))) if POSSIBLE.search(source) else ()
    elif path.suffix == ".yaml":
        yield from texts(yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    elif path.suffix == ".json":
        yield from texts(json.loads(path.read_bytes()))
    elif path.suffix == ".toml":
        yield from texts(tomllib.loads(path.read_text(encoding="utf-8")))


def test_no_literal_of_the_package_has_a_possessive_group() -> None:
    files = sorted(path for path in (ROOT / "micro_agent").rglob("*") if path.is_file())
    found = [f"{path.relative_to(ROOT)}: {text}" for path in files for text in written(path) if ON_A_GROUP.search(text)]
    assert found == []


@pytest.mark.torture
def test_no_compiled_pattern_of_the_package_has_a_possessive_group(warm: Warm) -> None:
    planted = "import re; re.search('(?:ab?c)*' + chr(43), ''); re.compile('[ab]*+c?+')"
    done = warm.run("-c", COMPILED, planted, cwd=ROOT, fresh=True)
    assert done.returncode == 0, done.stderr
    *found, count = done.stdout.splitlines()
    assert found == ["__main__: (?:ab?c)*+"], "the planted one alone"
    assert int(count) > 250, "most are compiled by the import"


@pytest.mark.parametrize(
    "source",
    [
        "re.compile(r'(?:ab?c)*+')", "re.search(r'(a|bc)?+x', text)", "r'(?:a)++'", "r'(?:a){2,}+'", r"r'a\\)*+'",
        "rf'{GROUP}*+'", "rf'(?:{GROUP}){{1,4}}+'", "'{}*+'.format(GROUP)", "'(?:a){{1,4}}+{}'.format(B)",
        "GROUP + '*+'", "GROUP + '{2}+'", "b'(?:a)*+'", "r'(?:a) *+'", "(r'(?:a)*'\n rf'+b')",
    ],
)  # fmt: skip
def test_a_possessive_group_is_found_in_source(source: str) -> None:
    assert POSSIBLE.search(source.encode())
    assert any(map(ON_A_GROUP.search, literals(ast.parse(source))))


@pytest.mark.parametrize(
    "source",
    [r"r'\s*+[^\"\\]++\w{1,9}+(?>(?:a|b)*)'", r"r'\)*+'", r"r'\\\)*+'", "r'a?+b'", "rf'{GROUP}a*+'", "'+'", "'a{1,4}'"],
)
def test_a_possessive_character_is_not(source: str) -> None:
    assert not any(map(ON_A_GROUP.search, literals(ast.parse(source))))
