"""`micro-agent ask`: a question in, an answer out, the run on record."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.messages import is_terminal
from micro_agent.cli.options import (
    AskedMode,
    BaseUrl,
    Confirmations,
    Demos,
    Fallback,
    FinishBy,
    Json,
    MaxBytes,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Mode,
    Model,
    NoBuiltinTools,
    NoRequiredTools,
    Provider,
    System,
    Think,
    Tools,
    TracesDir,
    UseToolCalls,
    check_think,
    mode_for,
    option,
    rules_of,
    settings,
    store_of,
    tool_options,
    tools_of,
)
from micro_agent.cli.question import question_of
from micro_agent.cli.waiting import sign_of_life

if TYPE_CHECKING:
    from micro_agent.models.settings import Settings
    from micro_agent.tools import Tool


ENVIRONMENT = (
    "Environment: MICRO_AGENT_ and the option's name in capitals, or LLM_PROVIDER, USE_TOOL_CALLS, LLM_FALLBACK, "
    "TRACES_DIR, TOOLS_MODULES, MAX_TOKENS, OLLAMA_THINK. Models and servers: OPENAI_API_KEY, OPENAI_MODEL, "
    "OPENAI_BASE_URL, OLLAMA_HOST, OLLAMA_MODEL, LITELLM_MODEL. Put a question that begins with a dash after --. "
    "Piped text is attached to the question."
)


def ask(
    context: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(metavar="QUESTION|-", show_default=False, help="The question; - reads it from a pipe."),
    ] = None,
    question: Annotated[
        str | None, option(metavar="Q", env="MICRO_AGENT_QUESTION", help="The question, as an option.")
    ] = None,
    utc: Annotated[bool, option("--utc", env="MICRO_AGENT_UTC", help="Make the clock tool answer in UTC.")] = False,
    system: System = None,
    tools: Tools = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    max_tokens: MaxTokens = None,
    think: Think = None,
    finish: FinishBy = None,
    max_steps: MaxSteps = 6,
    max_time: MaxTime = None,
    max_cost: MaxCost = None,
    max_bytes: MaxBytes = 32 * 1024 * 1024,
    provider: Provider = None,
    model: Model = None,
    base_url: BaseUrl = None,
    mode: AskedMode = Mode.auto,
    use_tool_calls: UseToolCalls = None,
    demos: Demos = None,
    fallback: Fallback = None,
    approve: Confirmations = None,
    traces_dir: TracesDir = None,
    as_json: Json = False,
    stream: Annotated[bool, option("--stream", env="MICRO_AGENT_STREAM", help="Print text as it arrives.")] = False,
) -> None:
    """Ask a question; the model calls tools as needed."""
    # A question on the command line goes before one in the environment.
    source = context.get_parameter_source("question")
    asked = question_of(text, None if text is not None and source and source.name == "ENVIRONMENT" else question)
    context.with_resource(sign_of_life(wanted=not as_json))
    from micro_agent.rules.limits import Limits

    limits = Limits(max_steps=max_steps, max_time=max_time, max_cost=max_cost, max_bytes=max_bytes)
    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, max_tokens=max_tokens,
        think=think, finish=finish,
    )  # fmt: skip
    offered = _tools(found, utc=utc)
    from micro_agent import MicroAgent, configure_lm
    from micro_agent.cli import outcome
    from micro_agent.cli.prompt import confirmer

    store = store_of(found, traces_dir)
    confirm = confirmer(approve.value if approve else None)
    lm = configure_lm(provider, model, base_url, settings=found, fallback=fallback)
    check_think(think, lm)
    agent = MicroAgent(
        tools=offered, lm=lm, mode=mode_for(found, mode, use_tool_calls), rules=rules_of(found), limits=limits,
        traces=store, settings=found, confirm=confirm, demos=demos, system=system,
    )  # fmt: skip
    live = stream and not as_json
    on_event = outcome.Printer() if live else None
    on_step = outcome.print_step if is_terminal(sys.stderr) and not live else None
    outcome.report(
        lambda cancel: agent.ask(asked, on_event=on_event, on_step=on_step, cancel=cancel),
        store, as_json=as_json, streamed=live,
        again=tool_options(tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools),
    )  # fmt: skip


def _tools(found: "Settings", *, utc: bool) -> "list[Tool]":
    from dataclasses import replace

    tools = tools_of(found)
    if utc and (clock := tools.get("now")):
        tools["now"] = replace(clock, handler=lambda timezone="utc": clock.handler(timezone="utc"))
    return list(tools.values())
