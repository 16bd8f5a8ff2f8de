"""Tools that a user names as code: a file or an import name is loaded, and a fault is told with its file and line."""

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

from micro_agent.errors import ToolDefinitionError
from micro_agent.files.outside import is_inside
from micro_agent.tools.adopt import as_tool
from micro_agent.tools.tool import Tool

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
_HERE = str(Path(__file__).resolve().parents[2])
"""What is imported to import this package."""
_WANTED = "decorate its functions with @tool (from micro_agent import tool), or list them as TOOLS = [...]"


def load_named(name: str) -> list[Tool]:
    """The tools of a Python file (``tools.py``, ``lib/tools.py``) or of a module by its import name (``pkg.tools``).

    They are what ``TOOLS`` or ``get_tools()`` of the module give; without these, each `Tool` that the module has under
    a name without a leading underscore. A file can import what lies beside it, unless an installed package has that
    name, and is loaded once in a process.

    Raises:
        ToolDefinitionError: It cannot be loaded, or has no tool; one line says why, with file and line of the fault.
    """
    try:
        module = _of_file(Path(name).expanduser()) if is_path(name) else importlib.import_module(name)
        return [_as_tool(item) for item in _items(module)]
    except (Exception, SystemExit) as error:  # code of the user's may fail in any way, and must not end the program
        raise ToolDefinitionError(f"the tools of {name} cannot be loaded: {_told(name, error)}") from error


def importable(folder: Path) -> None:
    """Let modules of a folder be imported; those that are found today go before them, so that none is shadowed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def shut_out(folder: Path) -> list[str]:
    """Let nothing in a folder be imported from now on, but for what this program is installed in; that is returned."""
    inside = [entry for entry in sys.path if is_inside(folder, Path(entry))]
    own = [entry for entry in inside if entry == _HERE or (entry + os.sep).startswith(_installed())]
    sys.path[:] = [entry for entry in sys.path if entry not in inside or entry in own]
    return own


def is_path(name: str) -> bool:
    """Whether tools are named by the path of a file, and not by an import name."""
    return name.endswith(".py") or name.startswith(".") or "/" in name


def listed(loaded: object) -> Iterable[object]:
    """The tools in what a plugin gave: one Tool, a dict or list of tools, or a function that returns one of these."""
    if isinstance(loaded, Tool):
        return [loaded]
    if callable(loaded):
        loaded = loaded()
    if isinstance(loaded, Mapping):
        return cast("Mapping[str, object]", loaded).values()
    if isinstance(loaded, list | tuple):
        return cast("list[object]", loaded)
    raise ToolDefinitionError(f"expected a dict or a list of tools, got {type(loaded).__name__}")


def place_of(item: object) -> str:
    """``file:line: `` of the function behind a tool, to begin a message with; empty where there is none."""
    function = (item.function or item.handler) if isinstance(item, Tool) else item
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f"{_shown(code.co_filename)}:{code.co_firstlineno}: " if isinstance(code, CodeType) else ""


def one_line(error: BaseException) -> str:
    """The error in one line, with the name of its type where it is not one of ours."""
    text = str(error) if isinstance(error, ToolDefinitionError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:300]


def _of_file(path: Path) -> ModuleType:
    from hashlib import sha256
    from importlib.util import module_from_spec, spec_from_file_location

    path = path.resolve()
    if not path.is_file():
        raise ToolDefinitionError("it is a folder; name a .py file" if path.is_dir() else "there is no such file")
    # Two files may have one name, and one of them that of an installed module.
    name = f"micro_agent_tools_{sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    importable(path.parent)
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolDefinitionError("it is not a Python file; its name must end with .py")
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _items(module: ModuleType) -> Iterable[object]:
    for name in ("TOOLS", "get_tools"):
        if hasattr(module, name):
            return listed(getattr(module, name))
    found = [item for name, item in vars(module).items() if isinstance(item, Tool) and not name.startswith("_")]
    if not found:
        raise ToolDefinitionError(f"there is no tool in it: {_WANTED}")
    return dict.fromkeys(found)  # one that has two names is one


def _as_tool(item: object) -> Tool:
    try:
        return as_tool(item)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"{place_of(item)}{error}") from error


def _told(name: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{_shown(error.filename or '?')}:{error.lineno}: {type(error).__name__}: {error.msg}"
    if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
        return (
            f"there is no module {error.name!r}; name a file (./{name}.py), or a module that can be imported from here"
        )
    return _line_of(error) + one_line(error)


def _line_of(error: BaseException) -> str:
    """The last line of the user's own code that the error passed, as opposed to that of libraries."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(("<frozen ", _PACKAGE, *_installed())):
            return f"{_shown(frame.filename)}:{frame.lineno}: "
    return ""


def _installed() -> tuple[str, ...]:
    """The folders that Python has its modules and packages in, each with a slash behind it."""
    import sysconfig

    return tuple({str(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "purelib", "platlib")})


def _shown(filename: str) -> str:
    """A path as one would type it here."""
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return filename
