"""`micro-agent ask`: a question in, an answer out, the run on record."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from micro_agent.models.settings import Settings


class Mode(StrEnum):
    """How the model is asked for decisions."""

    auto = "auto"
    native = "native"
    json = "json"


class Approve(StrEnum):
    """What happens when a tool asks for confirmation."""

    ask = "ask"
    pause = "pause"
    never = "never"
    all = "all"


TracesDir = Annotated[
    Path | None, typer.Option(metavar="DIR", envvar="TRACES_DIR", help="Where runs are written [default: traces]")
]


def ask(
    text: Annotated[
        str | None, typer.Argument(metavar="[QUESTION|-]", help="The question; - reads it from a pipe.")
    ] = None,
    question: Annotated[str | None, typer.Option(metavar="Q", envvar="MICRO_AGENT_QUESTION", help="The same.")] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="P", envvar="LLM_PROVIDER", help="openai (default), ollama, litellm or mock.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="M", envvar="MICRO_AGENT_MODEL", help="Model; also OPENAI_MODEL, OLLAMA_MODEL, LITELLM_MODEL."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="U", envvar="MICRO_AGENT_BASE_URL", help="Server; also OPENAI_BASE_URL, OLLAMA_HOST."),
    ] = None,
    mode: Annotated[Mode, typer.Option(envvar="MICRO_AGENT_MODE", help="How decisions are asked for.")] = Mode.auto,
    use_tool_calls: Annotated[
        bool | None,
        typer.Option("--use-tool-calls/--no-use-tool-calls", envvar="USE_TOOL_CALLS", help="Force native or json."),
    ] = None,
    max_steps: Annotated[int, typer.Option(metavar="N", envvar="MICRO_AGENT_MAX_STEPS", help="Decisions at most.")] = 6,
    max_time: Annotated[
        float | None, typer.Option(metavar="S", envvar="MICRO_AGENT_MAX_TIME", help="Seconds of work at most.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", envvar="MICRO_AGENT_MAX_COST", help="Dollars at most.")
    ] = None,
    utc: Annotated[
        bool, typer.Option("--utc", envvar="MICRO_AGENT_UTC", help="The clock tool always answers in UTC.")
    ] = False,
    approve: Annotated[
        Approve | None,
        typer.Option(envvar="MICRO_AGENT_APPROVE", help="Confirmations [default: ask on a terminal, else pause]"),
    ] = None,
    fallback: Annotated[
        bool | None,
        typer.Option("--fallback/--no-fallback", envvar="LLM_FALLBACK", help="Use another provider if need be."),
    ] = None,
    traces_dir: TracesDir = None,
    as_json: Annotated[bool, typer.Option("--json", envvar="MICRO_AGENT_JSON", help="Print the record.")] = False,
    stream: Annotated[
        bool, typer.Option("--stream", envvar="MICRO_AGENT_STREAM", help="Print text as it comes.")
    ] = False,
) -> None:
    """Ask a question; tools are called as needed."""
    asked = _question(text, question)
    if use_tool_calls is not None and mode is Mode.auto:
        mode = Mode.native if use_tool_calls else Mode.json
    from micro_agent.models.settings import load_settings
    from micro_agent.rules.limits import Limits

    limits = Limits(max_steps=max_steps, max_time=max_time, max_cost=max_cost)
    settings = load_settings(env_file=".env")
    from micro_agent import MicroAgent, configure_lm
    from micro_agent.cli import outcome
    from micro_agent.cli.prompt import confirmer
    from micro_agent.traces import TraceStore

    store = TraceStore(traces_dir or settings.traces_dir, state_dir=settings.micro_agent_state_dir)
    lm = configure_lm(provider, model, base_url, settings=settings, fallback=fallback)
    agent = MicroAgent(
        tools=_tools(settings, utc=utc), lm=lm, mode=mode.value, limits=limits, traces=store, settings=settings,
        confirm=confirmer(approve.value if approve else None),
    )  # fmt: skip
    live = stream and not as_json
    watch = outcome.Printer() if live else None
    outcome.report(
        lambda cancel: agent.ask(asked, on_event=watch, cancel=cancel), store, as_json=as_json, streamed=live
    )


def _question(text: str | None, option: str | None) -> str:
    if text is not None and option is not None:
        raise typer.BadParameter("give the question once: as an argument or with --question")
    asked = option if text is None else text
    if asked == "-" or (asked is None and not sys.stdin.isatty()):
        asked = sys.stdin.buffer.read().decode("utf-8", "replace")
    if asked is None or not asked.strip():
        raise typer.BadParameter('there is no question; try: micro-agent ask "What is 2*(3+5)?"')
    return asked.strip()


def _tools(settings: "Settings", *, utc: bool) -> list[object]:
    from micro_agent.tools import load_tools
    from micro_agent.tools.clock import utc_clock

    tools = load_tools(modules=",".join(settings.tools_modules) or None)
    return list({**tools, "now": utc_clock()}.values() if utc else tools.values())
