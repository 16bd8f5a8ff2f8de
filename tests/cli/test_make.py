"""A call inside a text on the command line: what is streamed, shown and verified."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.run import MAKE_ASKED
from micro_agent.testing import ModelServer, text

if TYPE_CHECKING:
    from tests.cli.conftest import Command

TOOLS = '''
from micro_agent import tool

@tool
def note(words: str) -> str:
    """Write words down."""
    with open("notes.txt", "a") as file:
        file.write(words)
    return "noted"
'''
INSIDE = text('I note it: {"name": "note", "arguments": {"words": "milk"}} All right?')


@pytest.mark.parametrize("make", [True, False])
def test_the_command_line_shows_it_and_verifies_it(command: "Command", make: bool) -> None:
    Path("my_tools.py").write_text(TOOLS, encoding="utf-8")
    word = json.dumps({"make": make})
    with ModelServer([INSIDE, text(word), text("Noted.")]) as server:
        done = command(
            "ask", "--base-url", server.openai_url, "--model", "scripted", "--tools", "my_tools.py", "--finish", "text",
            "--stream", "Note milk.",
        )  # fmt: skip
    assert done.code == 0
    assert done.out == ("I note it:\nNoted.\n" if make else f"{INSIDE.text}\n")
    assert (f'{MAKE_ASKED} {{"tools": ["note"], "make": true' in done.err) is make
    assert Path("notes.txt").exists() is make
    shown = command("replay", "last")
    assert MAKE_ASKED in shown.out
    assert "read from the text: I note it" in shown.out
    verified = command("replay", "--verify", "traces", "--tools", "my_tools.py")
    assert (verified.code, verified.out) == (0, "1 run: 1 the same, 0 differ, 0 could not be replayed\n")
