"""The command line: one module a command. Nothing heavy is imported until a command runs."""

import os
import sys
from functools import cache
from io import TextIOWrapper
from typing import Any

import typer

from micro_agent.cli import (
    acp,
    approvals,
    ask,
    chat,
    code,
    decide,
    doctor,
    eval,
    mcp,
    optimize,
    patches,
    proxy,
    replay,
    resume,
    serve,
    tools,
    traces,
    undo,
)
from micro_agent.cli.messages import log_from, mask_the_rest, say

app = typer.Typer(
    name="micro-agent",
    help="An agent for small local models. Answers go to standard output, everything else to standard error.",
    epilog="Exit codes: 0 answered, 1 failed, 2 usage or settings, 3 stopped, 4 waiting for confirmation, "
    "100 an eval under its threshold, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask", epilog=ask.ENVIRONMENT)(ask.ask)
app.command("code", epilog=code.ENVIRONMENT)(code.code)
app.command("chat", epilog=ask.ENVIRONMENT)(chat.chat)
app.command("replay")(replay.replay)
app.command("resume")(resume.resume)
app.command("approve")(decide.approve)
app.command("reject")(decide.reject)
app.add_typer(approvals.app, name="approvals")
app.add_typer(patches.app, name="patches")
app.command("undo")(undo.undo)
app.add_typer(traces.app, name="traces")
app.add_typer(eval.app, name="eval")
app.command("optimize", epilog=optimize.ENVIRONMENT)(optimize.optimize)
app.command("tools")(tools.tools)
app.command("doctor", epilog=doctor.ENVIRONMENT)(doctor.doctor)
app.command("proxy", epilog=proxy.ENVIRONMENT)(proxy.proxy)
app.command("serve", epilog=serve.ENVIRONMENT)(serve.serve)
app.command("mcp", epilog=ask.ENVIRONMENT)(mcp.mcp)
app.command("acp", epilog=acp.ENVIRONMENT)(acp.acp)


def _version(wanted: bool) -> None:
    if wanted:
        from micro_agent import __version__

        typer.echo(f"micro-agent {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Options that come before the command."""


@cache
def command() -> Any:
    """The whole command line. It takes longer to put together than most that it does: once a process is enough."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; what micro-agent refuses becomes one line on standard error and an exit code."""
    from micro_agent.errors import ConfigurationError, MicroAgentError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a model may say what no encoding has: half of a surrogate pair
            stream.reconfigure(errors="backslashreplace")
    log_from("warning")
    mask_the_rest()
    try:
        command()(prog_name="micro-agent")
    except MicroAgentError as error:
        say(f"micro-agent: {error}")
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of the output has no place to go
        say(f"micro-agent: {error}")
        sys.exit(1)
