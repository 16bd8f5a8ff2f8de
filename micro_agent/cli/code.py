"""`micro-agent code`: a task in a repository, done by a coached agent; without one, a chat over the repository."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from micro_agent.cli import code_plan
from micro_agent.cli.agent_options import taking
from micro_agent.cli.code_options import CodeOptions
from micro_agent.cli.messages import is_terminal
from micro_agent.cli.options import Json, is_typed, option
from micro_agent.cli.question import question_of
from micro_agent.cli.spans import seen
from micro_agent.cli.waiting import sign_of_life

ENVIRONMENT = (
    "Environment: MICRO_AGENT_ and the option's name in capitals, GATE_MODE, TEMPERATURE [0.1], the rest as for ask. "
    "Nothing is read from the repository."
)


@taking
def code(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK|-", show_default=False, help="The task; - reads it from a pipe."),
    ] = None,
    *,
    plan: Annotated[
        Path | None, option("--plan", metavar="FILE", env="MICRO_AGENT_PLAN", help="Do the tasks of a plan.")
    ] = None,
    state: Annotated[
        Path | None, option("--state", metavar="FILE", env="MICRO_AGENT_STATE", help="Of a plan: where its state lies.")
    ] = None,
    retry: Annotated[bool, option("--retry", env="MICRO_AGENT_RETRY", help="Of a plan: do again what failed.")] = False,
    options: CodeOptions,
    as_json: Json = False,
    stream: Annotated[bool, option("--stream", env="MICRO_AGENT_STREAM", help="Print text as it arrives.")] = False,
) -> None:
    """Do a task in a git repository: find, read, change with your approval, test."""
    from micro_agent.errors import ConfigurationError

    given = words or []
    if plan is None and given[:1] == ["plan"] and len(given) <= 2:
        if len(given) == 1:
            raise ConfigurationError("name the file of the plan: micro-agent code plan FILE")
        plan, given = Path(given[1]), []
    if plan is None and (typed := [name for name in ("state", "retry") if is_typed(context, name)]):
        raise ConfigurationError(f"--{typed[0]} goes with a plan: micro-agent code plan FILE --{typed[0]}")
    if len(given) + (plan is not None) > 1:
        raise ConfigurationError("there is more than one task: put one into quotes, or give a plan alone")
    context.with_resource(seen(options.phoenix))
    if plan is not None:
        code_plan.run_plan(plan, options.coached, state=state, as_json=as_json, retry=retry)
    text = next(iter(given), None)
    if text is None and is_terminal(sys.stdin) and is_terminal(sys.stderr):
        _chat(options)
    task = question_of(text, None, example='code "The test of add fails. Fix it."')
    context.with_resource(sign_of_life(wanted=not as_json))
    made = options.coached()
    from micro_agent.cli import outcome

    live = stream and not as_json
    on_event = outcome.Printer() if live else None
    on_step = outcome.print_step if is_terminal(sys.stderr) and not live else None
    outcome.report(
        lambda cancel: made.agent.ask(task, on_event=on_event, on_step=on_step, cancel=cancel),
        made.store, as_json=as_json, streamed=live, again=made.again,
    )  # fmt: skip


def _chat(options: CodeOptions) -> None:
    from micro_agent.cli.chat import Talk
    from micro_agent.cli.chat_turns import Chat

    made = options.coached(chats=True)
    Talk(made, Chat(made.agent, made.store), terminal=True).run()
