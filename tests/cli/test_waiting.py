"""The sign of life on a terminal: there while nothing is printed, gone when something is, and nowhere else."""

from typing import TYPE_CHECKING

import pytest

from micro_agent.testing import ModelServer, call, text
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

SIGN, CLEAR = "working, 1 s\r", "\r\x1b[K"


def asking(server: ModelServer, *options: str) -> list[str]:
    return ["ask", "--base-url", server.openai_url, "--model", "scripted", *options, "Why?"]


def test_a_terminal_shows_a_sign_of_life_until_something_comes(cli: "Cli"):
    terminal = Terminal()
    with ModelServer([call("wait", {"seconds": 1.2}), text("So it is.", delay_s=1.2)]) as server:
        process = cli.start(*asking(server), env=cli.plugin, stderr=terminal.other)
        terminal.until(SIGN)
        terminal.until(f'{CLEAR}wait {{"seconds": 1.2}} -> waited\r\n')  # the step stands on a line of its own
        terminal.until(SIGN)
        done = cli.end(process)
    assert (done.code, done.out) == (0, "So it is.\n")
    terminal.until(f"{CLEAR}Trace: ")


def test_text_that_is_printed_as_it_comes_is_not_written_over(cli: "Cli"):
    terminal = Terminal()
    with ModelServer([call("wait", {"seconds": 1.2}, text="Let me see."), text("So it is.")]) as server:
        streams = {"stdout": terminal.other, "stderr": terminal.other}
        process = cli.start(*asking(server, "--stream"), env=cli.plugin, **streams)
        terminal.until("Let me see.")
        shown = terminal.until("Trace: ")
        assert cli.end(process).code == 0
    assert shown.startswith('\r\nwait {"seconds": 1.2} -> waited\r\n')


@pytest.mark.parametrize(
    ("options", "streams", "env"),
    [
        ([], {}, {}),
        (["--json"], {"stderr": "terminal"}, {}),
        ([], {"stderr": "terminal"}, {"TERM": "dumb"}),
    ],
)
def test_pipes_programs_and_plain_terminals_are_spared(
    cli: "Cli", options: list[str], streams: dict[str, str], env: dict[str, str]
):
    terminal = Terminal()
    with ModelServer([text("So it is.", delay_s=1.5)]) as server:
        process = cli.start(*asking(server, *options), env=env, **dict.fromkeys(streams, terminal.other))
        done = cli.end(process)
    assert (done.code, "working" in done.err, "\x1b" in done.err) == (0, False, False)
    if streams:
        shown = terminal.until("Trace: ")
        assert ("working" in shown, "\x1b" in shown) == (False, False)
