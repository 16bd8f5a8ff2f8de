"""Who may import what: rooms import rooms below, few modules know DSPy, and nothing goes in circles."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = [
    "errors", "text", "files", "dspy_internals", "tools", "run", "cancel", "effects", "rules", "decoding", "demos",
    "storage", "traces", "models", "context", "wires", "planning", "loop", "streaming", "running", "program", "agent",
    "replay", "testing", "evaluation", "optimize", "doctor", "server", "cli",
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
TREES = {name: ast.parse(path.read_bytes(), str(path)) for name, path in MODULES.items()}
MAY_IMPORT_DSPY = tuple(f"micro_agent.{name}." for name in WITH_DSPY)


def part(module: str) -> str:
    """The part of the package that a module belongs to: ``rules`` for ``micro_agent.rules.limits``."""
    return f"{module}.".split(".")[1]


def when_run(node: ast.AST) -> Iterator[ast.AST]:
    """The statements below a node that can run, inside functions too: all but those for type checkers."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield from when_run(child)


def imports(module: str, nodes: Iterator[ast.AST]) -> Iterator[str]:
    """The modules that import statements name, absolute; ``from a import b`` is ``a.b`` where that is a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            yield from (f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


@pytest.mark.parametrize("module", [name for name in MODULES if not f"{name}.".startswith(MAY_IMPORT_DSPY)])
def test_dspy_is_imported_where_it_may_be(module: str) -> None:
    found = [name for name in imports(module, ast.walk(TREES[module])) if name.split(".")[0] == "dspy"]
    assert found == []


@pytest.mark.parametrize("module", [module for module in MODULES if module != "micro_agent.dspy_internals"])
def test_what_dspy_does_not_export_is_named_in_one_file(module: str) -> None:
    found = [name for name in imports(module, ast.walk(TREES[module])) if name.split(".")[0] == "dspy"]
    assert set(found) <= PUBLIC_DSPY
    names = [
        alias.name
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.ImportFrom) and not node.level and node.module in PUBLIC_DSPY
        for alias in node.names
    ]
    assert [name for name in names if name.startswith("_")] == []


@pytest.mark.parametrize("module", [module for module in MODULES if part(module)])
def test_imports_go_to_rooms_below(module: str) -> None:
    below = {"", *ROOMS[: ROOMS.index(part(module)) + 1]} if part(module) != "__main__" else {"cli"}
    found = [name for name in imports(module, when_run(TREES[module])) if name.split(".")[0] == "micro_agent"]
    assert [name for name in found if part(name) not in below] == []


def test_imports_go_in_no_circle() -> None:
    graph = {module: set(imports(module, when_run(TREES[module]))) & set(MODULES) for module in MODULES}
    for module, imported in graph.items():
        assert module not in imported, module
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert circle == []
