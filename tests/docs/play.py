"""Executes the blocks of one page, in order, in the current directory: `python play.py PAGE BLOCKS OUTPUTS`.

Python blocks share one namespace, as in a notebook. BLOCKS is a JSON list of ``{language, line, content}``; OUTPUTS
receives the JSON list of what each one printed. It is a process of its own, and the page imports the package itself:
what is imported already is hidden until the page does.
"""

import builtins
import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

_OWN_PORT = re.compile(r"--port 8[01]00\b")


def main(page: str, source: str, target: str) -> None:
    """Execute every block and write the outputs; the first that fails ends it with its traceback."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    sys.path[0] = ""
    _hide("micro_agent")
    try:
        outputs = [_play(block, page, module) for block in json.loads(Path(source).read_text())]
    finally:
        _server.end()
    Path(target).write_text(json.dumps(outputs))


def _hide(package: str) -> None:
    """Take the modules that are imported already out of a package: each is in it once somebody imports it."""
    there, really = sys.modules[package], builtins.__import__
    for name in [name for name, value in vars(there).items() if sys.modules.get(f"{package}.{name}") is value]:
        delattr(there, name)

    def imported(name: str, *how: Any, **more: Any) -> ModuleType:
        module = really(name, *how, **more)
        first, _, inner = name.partition(".")
        if first == package and inner:
            child = inner.partition(".")[0]
            setattr(there, child, sys.modules[f"{package}.{child}"])
        return module

    builtins.__import__ = imported


class _Server:
    """The command of a page that ended with ``&`` last: a server, which really has another port than the page says."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.shown = self.address = "127.0.0.1:8000"

    def named(self, content: str) -> None:
        """Take the address that a block says the server listens on: `serve` and `proxy` have different ports."""
        if listens := re.search(r"listens on http://(127\.0\.0\.1:8[01]00)$", content, flags=re.MULTILINE):
            self.shown = listens[1]

    def start(self, command: str) -> str:
        """Start it in place of the one before; returns what it said until it listened, or ended."""
        self.end()
        any_port = _OWN_PORT.sub("--port 0", command.removesuffix("&"))
        self._process = subprocess.Popen(
            ["bash", "-c", any_port], env={**os.environ, "MICRO_AGENT_PORT": "0"}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        said = ""
        for line in self._process.stdout or ():
            said += line
            if listens := re.search(r"http://([\d.]+:\d+)", line):
                self.address = listens[1]
                break
        return said

    def end(self) -> None:
        """End it and whatever it started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.communicate()


_server = _Server()


def _play(block: dict[str, Any], page: str, module: ModuleType) -> str:
    content: str = block["content"]
    name = re.match(r"# ([\w./-]+\.(?:py|yaml|toml))\n", content)
    if name:
        Path(name[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(name[1]).write_text(content + "\n")
    if block["language"] == "console":
        return _console(content)
    return _python(content, block["line"], page, module) if block["language"] == "python" else ""


def _python(content: str, line: int, page: str, module: ModuleType) -> str:
    # Blank lines before it give tracebacks, and inspect.getsource, the line numbers of the page.
    code = compile("\n" * (line - 1) + content, page, "exec")
    with redirect_stdout(io.StringIO()) as printed:
        exec(code, module.__dict__)
    return printed.getvalue()


def _console(content: str) -> str:
    """Run each ``$ command`` and return the block as a terminal would show it."""
    _server.named(content)
    shown: list[str] = []
    code = 0
    for command in [*_commands(content), None]:
        if code and (command is None or "$?" not in command):
            shown.append(f"exit code {code}, and the page does not show it with `$ echo $?`")
            raise SystemExit("\n".join(shown))
        if command is not None:
            code, output = _shell(command.replace(_server.shown, _server.address), code)
            shown += ["$ " + command, *output.replace(_server.address, _server.shown).splitlines()]
    return "\n".join(shown)


def _shell(command: str, last: int) -> tuple[int, str]:
    if command.endswith("&"):
        return 0, _server.start(command)
    script = f"(exit {last})\n{command}"
    done = subprocess.run(
        ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def _commands(content: str) -> list[str]:
    """The commands of a console block; a backslash at the end of a line continues it."""
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)$", content, flags=re.MULTILINE)
    return [str(command) for command in found]


if __name__ == "__main__":
    main(*sys.argv[1:])
