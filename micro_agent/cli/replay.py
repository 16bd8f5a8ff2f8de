"""`micro-agent replay`: a recorded run as a person wants to read it."""

from pathlib import Path
from typing import Annotated

from micro_agent.cli.messages import print_record, print_text
from micro_agent.cli.options import Json, option, settings


def replay(
    path: Annotated[Path, option(metavar="FILE", env="MICRO_AGENT_TRACE", help="A trace: traces/ID.jsonl.")],
    index: Annotated[int, option(metavar="K", env="MICRO_AGENT_INDEX", help="Which record; -1 is the latest.")] = -1,
    as_json: Json = False,
) -> None:
    """Show a recorded run: question, steps, answer, what it took."""
    from micro_agent.replay import describe, record_of

    settings()
    run = record_of(path, index)
    if as_json:
        print_record(run)
    else:
        print_text("\n".join(describe(run)))
