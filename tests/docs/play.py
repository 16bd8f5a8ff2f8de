"""Executes the blocks of one page, in order, in the current directory: `python play.py PAGE BLOCKS OUTPUTS`.

Python blocks share one namespace, as in a notebook. BLOCKS is a JSON list of ``{language, line, content}``; OUTPUTS
receives the JSON list of what each one printed. It is a process of its own, so that a page meets a fresh interpreter.
"""

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any


def main(page: str, source: str, target: str) -> None:
    """Execute every block and write the outputs; the first that fails ends it with its traceback."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    sys.path[0] = ""
    outputs = [_play(block, page, module) for block in json.loads(Path(source).read_text())]
    Path(target).write_text(json.dumps(outputs))


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
    shown: list[str] = []
    code = 0
    for command in [*_commands(content), None]:
        if code and (command is None or "$?" not in command):
            shown.append(f"exit code {code}, and the page does not show it with `$ echo $?`")
            raise SystemExit("\n".join(shown))
        if command is not None:
            code, output = _shell(command, code)
            shown += ["$ " + command, *output.splitlines()]
    return "\n".join(shown)


def _shell(command: str, last: int) -> tuple[int, str]:
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
