"""Who may import what: the data knows nothing of the loop, few modules know DSPy, and nothing goes in circles."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WITH_DSPY = {
    "adapter", "wires", "planner", "agent", "optimize", "models", "program", "testing", "dspy_internals"
}  # fmt: skip
PUBLIC_DSPY = {"dspy", "dspy.lm15", "dspy.streaming", "dspy.utils"}
DATA = {"run", "decoding", "rules"}
ABOVE_DATA = {"loop", "planner", "adapter", "agent", "optimize", "replay", "evaluation", "server", "cli", "coding"}


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "micro_agent").rglob("*.py"))}
TREES = {name: ast.parse(path.read_bytes(), str(path)) for name, path in MODULES.items()}


def part(module: str) -> str:
    """The part of the package that a module belongs to: ``rules`` for ``micro_agent.rules.limits``."""
    return f"{module}.".split(".")[1]


def everywhere(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node, inside functions and type-checking blocks too."""
    yield from ast.walk(node)


def when_imported(node: ast.AST) -> Iterator[ast.AST]:
    """The statements below a node that run when the module is imported."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield from when_imported(child)


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


@pytest.mark.parametrize("module", [module for module in MODULES if part(module) not in WITH_DSPY])
def test_dspy_is_imported_where_it_may_be(module: str) -> None:
    found = [name for name in imports(module, everywhere(TREES[module])) if name.split(".")[0] == "dspy"]
    assert found == []


@pytest.mark.parametrize("module", [module for module in MODULES if module != "micro_agent.dspy_internals"])
def test_what_dspy_does_not_export_is_named_in_one_file(module: str) -> None:
    found = [name for name in imports(module, everywhere(TREES[module])) if name.split(".")[0] == "dspy"]
    assert set(found) <= PUBLIC_DSPY
    names = [
        alias.name
        for node in everywhere(TREES[module])
        if isinstance(node, ast.ImportFrom) and not node.level and node.module in PUBLIC_DSPY
        for alias in node.names
    ]
    assert [name for name in names if name.startswith("_")] == []


@pytest.mark.parametrize("module", [module for module in MODULES if part(module) in DATA])
def test_data_imports_nothing_of_the_loop(module: str) -> None:
    found = [name for name in imports(module, everywhere(TREES[module])) if name.startswith("micro_agent.")]
    assert [name for name in found if part(name) in ABOVE_DATA] == []


def test_imports_go_in_no_circle() -> None:
    graph = {module: set(imports(module, when_imported(TREES[module]))) & set(MODULES) for module in MODULES}
    for module, imported in graph.items():
        assert module not in imported, module
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert circle == []
