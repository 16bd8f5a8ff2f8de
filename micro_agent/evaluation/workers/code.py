"""Which code a process runs, as digests: workers whose figures go into one file must run the same."""

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import micro_agent
from micro_agent.tools.loading import importable, is_path

_PACKAGE = Path(micro_agent.__file__).parent


def digests(modules: Sequence[str]) -> dict[str, str]:
    """What has to be the same in all processes of an eval, by its name for people.

    Args:
        modules: Tools as ``--tools`` names them, files or import names. Of a package all its modules count; what they
            import does not.
    """
    return {
        "Python": ".".join(map(str, sys.version_info[:2])),
        "micro-agent": _own(),
        **{f"the tools {name}": _digest(*_files_of(name))[:12] for name in modules},
    }


def differences(expected: dict[str, str], modules: Sequence[str]) -> list[str]:
    """How this process differs from one with these digests, one line each."""
    here = digests(modules)
    return [f"{name} is {here[name]} there, {value} here" for name, value in expected.items() if here[name] != value]


@cache
def _own() -> str:
    return f"{micro_agent.__version__} {_digest(sorted(_PACKAGE.rglob('*.py')), _PACKAGE)[:12]}"


def _files_of(name: str) -> tuple[list[Path], Path]:
    if is_path(name):
        path = Path(name).expanduser()
        return [path], path.parent
    importable(Path.cwd())
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # the package that it is said to be in
        found = None
    if found is None or found.origin is None or not found.has_location:
        return [], Path()
    path = Path(found.origin)
    return (sorted(path.parent.rglob("*.py")) if found.submodule_search_locations else [path]), path.parent


def _digest(files: Iterable[Path], base: Path) -> str:
    """Of the names and contents of files; one that is not there counts as empty, and is told when it is loaded."""
    whole = sha256()
    for file in files:
        content = file.read_bytes() if file.is_file() else b""
        whole.update(f"{file.relative_to(base).as_posix()}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()
