"""Makes the picture of the coding agent from a real run: `python docs/pictures/fixing.py [FILE]`.

A scripted model fixes a fault that is planted in a clone of this repository. The model, and `gh`, are played; the
command line, git, the sandbox, the tests and the two terminals are real. What differs from one time to the next (ids,
folders, seconds) is replaced, so that the picture comes out the same every time.
"""

import os
import pty
import re
import select
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from micro_agent.coding.workplace import store_of
from micro_agent.replay import step_line
from micro_agent.run import Run, Step
from micro_agent.run.finishing import stands
from micro_agent.testing import ModelServer, Reply, call, text

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = str(Path(sys.executable).with_name("micro-agent"))
_COLUMNS = 100
_TEMPLATE = re.sub(r"@font-face \{\{.*?\}\}\s*| https://www.textualize.io", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
_STYLES = (
    (r"^\$ ", "bold"),
    (r"^ *\[another terminal\]", "magenta"),
    (r"^(⛔️|🔁|- tests|Fix these)", "bold yellow"),
    (r"^  ?\| \+", "green"),
    (r"^  ?\| -", "red"),
    (r"^\| \+", "green"),
    (r"^\| -", "red"),
    (r"^Gates:", "bold green"),
)
_PLACE, _TEST = "micro_agent/text/attached.py", "tests/text/test_attached.py"
_RIGHT = 'while f"<{tag}>" in text or f"</{tag}>" in text:'
_WRONG, _HALF = 'while f"<{tag}>" in text:', 'while f"</{tag}>" in text:'
_TESTS = '''"""Texts that have the tags in them which would stand around them."""

from micro_agent.text.attached import with_attached


def test_an_opening_tag_in_the_text():
    assert with_attached("What is it?", "<stdin>")[-10:] == "</stdin-2>"


def test_a_closing_tag_in_the_text():
    assert with_attached("What is it?", "</stdin>")[-10:] == "</stdin-2>"
'''
_TASK = "A text with </stdin> in it is attached wrongly. Fix it."
_RUN = {"test_cmd": f"pytest {_TEST}"}
_GH = "#!/bin/sh\necho https://github.com/me/project/pull/7\n"
_PROMPT = "or no with a reason: "


def _script() -> list[Reply]:
    """The replies: each mistake is one that weak models make."""
    return [
        call("rg_search", {"pattern": "def with_attached"}),
        call("read_file", {"path": _PLACE}),
        call("edit_file", {"path": _PLACE, "target": "while '<{tag}>' in text:", "replacement": _RIGHT}),
        call("read_file", {"path": _PLACE, "start_line": 6, "end_line": 16}),
        call("edit_file", {"path": _PLACE, "target": _WRONG, "replacement": _HALF}),
        call("run_tests", _RUN),
        call("edit_file", {"path": _PLACE, "target": _HALF, "replacement": _RIGHT}),
        call("run_tests", _RUN),
        text("Both tags are looked for now, and both tests pass."),
        call("create_pr", {"title": "Look for both tags", "body": "The tests pass.", "branch": "both-tags"}),
        text("The pull request is open: https://github.com/me/project/pull/7"),
    ]


class _Desk:
    """A folder with the clone, a remote, a home and programs; all that was typed and shown there."""

    def __init__(self, where: Path) -> None:
        self.where, self.lines = where, list[str]()
        path = os.pathsep.join([str(where / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.env = {"PATH": path, "HOME": str(where / "home"), "TERM": "dumb", "LANG": "C.UTF-8", "COLUMNS": "100",
                    "RESAMPLES": "0", "PYTHONPATH": str(_ROOT)}  # fmt: skip
        for folder in ("home", "bin"):
            (where / folder).mkdir()
        (where / "bin/gh").write_text(_GH)
        (where / "bin/gh").chmod(0o755)
        (where / "home/.gitconfig").write_text(
            "[user]\n\tname = me\n\temail = me@example.org\n[safe]\n\tdirectory = *\n"
        )
        self.git("clone", "-q", "--local", str(_ROOT), "clone", at=where)
        self.git("init", "-q", "--bare", "-b", "main", str(where / "hub.git"), at=where)
        self.git("checkout", "-q", "-B", "main")
        place = where / "clone" / _PLACE
        place.write_text(place.read_text(encoding="utf-8").replace(_RIGHT, _WRONG), encoding="utf-8")
        (where / "clone" / _TEST).write_text(_TESTS, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A fault")
        self.git("remote", "set-url", "origin", str(where / "hub.git"))
        self.git("push", "-q", "origin", "main")

    def git(self, *args: str, at: Path | None = None) -> None:
        subprocess.run(["git", *args], cwd=at or self.where / "clone", env=self.env, check=True, capture_output=True)

    def types(self, *args: str) -> None:
        """A command of git's in the first terminal."""
        self.lines.append(f"$ {shlex.join(['git', *args])}")
        self.git(*args)

    def elsewhere(self, *args: str) -> None:
        """A command in the other terminal; its last line is shown."""
        done = subprocess.run(
            [_PROGRAM, *args, "--repo", "."],
            cwd=self.where / "clone", env=self.env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.lines.append(f"    [another terminal] $ micro-agent {' '.join(args)}")
        self.lines.append(f"    [another terminal] {done.stderr.splitlines()[-1]}")

    def code(self, server: ModelServer, *args: str) -> None:
        """`micro-agent code` on the first terminal; what it asks is approved in the other one."""
        self.lines.append(f"$ {shlex.join(['micro-agent', 'code', *args])}")
        begins = len(self.lines)
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [_PROGRAM, "code", *args, "--model-id", "openai/scripted", "--api-base", server.openai_url],
            cwd=self.where / "clone", env=self.env, stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        seen = ""
        while (part := _read(ours)) is not None:
            seen += part
            if seen.endswith(_PROMPT):
                self._show(seen)
                seen = ""
                self.elsewhere("approve", "last")
        self._show(seen)
        os.close(ours)
        if process.wait():
            raise SystemExit("\n".join(self.lines))
        self.lines[begins:] = _with_results(self.lines[begins:], self._last_run())

    def _last_run(self) -> Run:
        store = store_of(self.where / "clone", state_dir=self.where / "home/.local/state/micro-agent")
        return store.load(max(store.ids(), key=store.written))

    def _show(self, seen: str) -> None:
        self.lines += [line for line in seen.replace("\r", "").splitlines() if line.strip()]


def _read(terminal: int) -> str | None:
    """What is shown next; ``None`` once nobody can show anything any more."""
    try:
        select.select([terminal], [], [])
        return os.read(terminal, 65_536).decode("utf-8", "replace") or None
    except OSError:
        return None


def _with_results(lines: list[str], run: Run) -> list[str]:
    """The lines; behind that of a step, which is cut, is what the model was told of an error, of tests and of a fix."""
    steps, shown = iter(run.steps), list[str]()
    step = next(steps, None)
    for line in lines:
        shown.append(line)
        if (step is not None and line.startswith(f"{step.tool} ") and " -> " in line) or line.endswith("…"):
            assert step is not None
            shown += [f"     {told}" for told in _told(step)]
            step = next((one for one in steps if not stands(one)), None)
    return shown


def _told(step: Step) -> list[str]:
    seen: Any = step.observation
    if isinstance(seen, str):
        return seen.splitlines()
    if (hint := seen.get("recovery_suggestion")) is not None:
        called = hint["tool_call"]
        return [f"{seen['error']}; next: {step_line(called['name'], called['arguments'])}"]
    if "passed" in seen:
        return [f"{seen['passed']} passed, {seen['failed']} failed"]
    return []


def _still(line: str, where: Path) -> str:
    """The line without what differs from one time to the next."""
    line = line.replace(str(where), "~").replace(str(where.resolve()), "~")
    return re.sub(r"\b(?:[0-9a-f]{40}|[0-9a-f]{32})\b|(?<=patch_|..cmd_)[0-9a-f]{10}", "0000…", line)


def played() -> list[str]:
    """The lines of both terminals."""
    with TemporaryDirectory() as folder, ModelServer(_script()) as server:
        desk = _Desk(Path(folder))
        desk.code(server, _TASK)
        desk.types("switch", "-q", "-c", "both-tags")
        desk.types("commit", "-q", "-a", "-m", "Look for both tags")
        desk.code(server, "--gates", "off", "Open a draft pull request for the branch both-tags.")
        return [_still(line, Path(folder)) for line in desk.lines]


def picture(lines: list[str]) -> str:
    """The picture, as SVG."""
    options: dict[str, Any] = {"width": _COLUMNS, "force_terminal": True, "color_system": "truecolor"}
    console = Console(record=True, file=StringIO(), **options)
    for line in lines:
        style = next((style for form, style in _STYLES if re.match(form, line)), "")
        console.print(Text(line, style), highlight=False)
    title = "micro-agent code: a scripted weak model, all else is real"
    return console.export_svg(title=title, theme=MONOKAI, code_format=_TEMPLATE, unique_id="fixing")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_suffix(".svg")
    target.write_text(picture(played()), encoding="utf-8")
