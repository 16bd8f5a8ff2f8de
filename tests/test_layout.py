"""Who may import what: rooms import rooms below, few modules know DSPy, and nothing goes in circles."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = [
    "errors", "extras", "text", "files", "dspy_internals", "tools", "run", "cancel", "effects", "rules", "decoding",
    "sampling", "demos", "storage", "traces", "index", "models", "context", "mcp", "wires", "planning", "loop",
    "streaming", "running", "program", "coding", "agent", "coder", "plans", "observing", "replay", "testing",
    "evaluation", "page", "optimize", "doctor", "server", "proxy", "doors", "cli",
]  # fmt: skip
"""The rooms of the package, from what knows nothing of the others to the front doors: imports go towards the first."""
WITH_DSPY = (
    "planning", "wires", "running.tool_calls", "running.dspy_callbacks", "agent", "optimize", "models", "program",
    "testing", "dspy_internals",
)  # fmt: skip
PUBLIC_DSPY = {"dspy", "dspy.lm15", "dspy.streaming", "dspy.utils"}


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "micro_agent").rglob("*.py"))}
MAY_IMPORT_DSPY = tuple(f"micro_agent.{name}." for name in WITH_DSPY)


def part(module: str) -> str:
    """The part of the package that a module belongs to: ``rules`` for ``micro_agent.rules.limits``."""
    return f"{module}.".split(".")[1]


@cache
def statements(module: str) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements of a module, inside functions too; with each whether it runs: not for type checkers."""
    return list(_below(ast.parse(MODULES[module].read_bytes(), str(MODULES[module])), runs=True))


def _below(node: ast.AST, *, runs: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, runs
    elif isinstance(node, ast.If):
        runs = runs and "TYPE_CHECKING" not in (getattr(node.test, "id", ""), getattr(node.test, "attr", ""))
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):  # what holds statements
        for child in getattr(node, name, ()):
            yield from _below(child, runs=runs)


def imports(module: str, *, run: bool = False) -> Iterator[str]:
    """The modules that import statements name, absolute; ``from a import b`` is ``a.b`` where that is a module.

    Args:
        module: The module that imports.
        run: Leave out what is imported for type checkers only.
    """
    for node, runs in statements(module):
        if run and not runs:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            base = _absolute(module, node)
            yield from (f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def dspys(module: str) -> set[str]:
    """The modules of DSPy that a module imports."""
    return {name for name in imports(module) if name.split(".")[0] == "dspy"}


def test_dspy_is_imported_where_it_may_be() -> None:
    others = [module for module in MODULES if not f"{module}.".startswith(MAY_IMPORT_DSPY)]
    assert {module: found for module in others if (found := dspys(module))} == {}


def test_what_dspy_does_not_export_is_named_in_one_file() -> None:
    others = [module for module in MODULES if module != "micro_agent.dspy_internals"]
    assert {module: found for module in others if (found := dspys(module) - PUBLIC_DSPY)} == {}
    private = {
        (module, alias.name)
        for module in others
        for node, _ in statements(module)
        if isinstance(node, ast.ImportFrom) and not node.level and node.module in PUBLIC_DSPY
        for alias in node.names
        if alias.name.startswith("_")
    }
    assert private == set()


def test_imports_go_to_rooms_below() -> None:
    wrong: list[tuple[str, str]] = []
    for module in filter(part, MODULES):
        below = {"", *ROOMS[: ROOMS.index(part(module)) + 1]} if part(module) != "__main__" else {"cli"}
        found = imports(module, run=True)
        wrong += [(module, name) for name in found if name.split(".")[0] == "micro_agent" and part(name) not in below]
    assert wrong == []


def test_imports_go_in_no_circle() -> None:
    graph = {module: set(imports(module, run=True)) & set(MODULES) for module in MODULES}
    for module, imported in graph.items():
        assert module not in imported, module
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert circle == []
