"""`micro-agent replay`: a recorded run as a person wants to read it."""

from pathlib import Path
from typing import Annotated

import typer


def replay(
    path: Annotated[Path, typer.Option(metavar="FILE", envvar="MICRO_AGENT_TRACE", help="A trace: traces/ID.jsonl.")],
    index: Annotated[
        int, typer.Option(metavar="K", envvar="MICRO_AGENT_INDEX", help="Which record of the file; -1 is the latest.")
    ] = -1,
    as_json: Annotated[bool, typer.Option("--json", envvar="MICRO_AGENT_JSON", help="Print the record.")] = False,
) -> None:
    """Show a recorded run: question, steps, answer, what it took."""
    from micro_agent.replay import describe, record_of

    run = record_of(path, index)
    typer.echo(run.model_dump_json() if as_json else "\n".join(describe(run)))
