"""The README's own tool on Ollama, as it stands there, against a server that plays Ollama."""

import os
import re
import subprocess
import sys
from pathlib import Path

from micro_agent.testing import ModelServer, Received, Reply, decision, final
from tests.docs.test_docs import ROOT, Block, blocks
from tests.warm import Warm

MODEL, QUESTION = "llama3.2:3b", "How many lamps are in shop 2?"


def said(request: Received) -> Reply:
    """The tool is called until its result is there."""
    found = any("Tool [stock] output:\n48" in message["content"] for message in request.messages)
    return final("There are 48 lamps in shop 2.") if found else decision("stock", {"product": "lamp", "shop": "2"})


def block(beginning: str) -> Block:
    """The first block of the README that holds this text."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return next(found for found in blocks(readme) if beginning in found.content)


def run(command: list[str], folder: Path, warm: Warm) -> subprocess.CompletedProcess[str]:
    """Run a command where the README's file of tools is, with a scripted Ollama as the local one."""
    (folder / "my_tools.py").write_text(block("# my_tools.py").content + "\n", encoding="utf-8")
    with ModelServer(said, models=[MODEL]) as server:
        path = os.pathsep.join(
            [str(warm.scripts), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        )
        env = {"PATH": path, "HOME": str(folder / "home"), "LANG": "C.UTF-8", "OLLAMA_HOST": server.url}
        return subprocess.run(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip


def test_the_own_tool_answers_in_python(tmp_path: Path, warm: Warm) -> None:
    code = block('configure_lm("ollama"').content
    assert QUESTION in code
    done = run([str(warm.scripts / "python"), "-c", code], tmp_path, warm)
    assert done.stdout == "completed There are 48 lamps in shop 2.\n", done.stderr


def test_the_own_tool_answers_on_the_command_line(tmp_path: Path, warm: Warm) -> None:
    done = run(["bash", "-c", block("--tools my_tools.py").content], tmp_path, warm)
    assert done.stdout == "There are 48 lamps in shop 2.\n", done.stderr


def test_nobody_is_told_to_install_what_somebody_else_has_published_under_this_name() -> None:
    told = re.compile(r"(?:pip|uv tool|pipx) install [\"']?micro-agent")
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "micro_agent").rglob("*.py")]
    assert [path.name for path in files if told.search(path.read_text(encoding="utf-8"))] == []
