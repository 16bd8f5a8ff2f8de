"""`micro-agent resume`: a run that paused or was killed is resumed."""

from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.coached import as_coached
from micro_agent.cli.messages import print_json, print_text, say
from micro_agent.cli.options import (
    BaseUrl,
    Confirmations,
    Json,
    MaxTokens,
    Mcp,
    NoBuiltinTools,
    NoRequiredTools,
    Think,
    Tools,
    TracesDir,
    again_with,
    check_think,
    option,
    rules_of,
    settings,
    store_of,
    tools_of,
)
from micro_agent.cli.repository import Repo, SandboxKind, Toolset, repository_of
from micro_agent.cli.run_ids import open_run_of
from micro_agent.cli.spans import Phoenix, seen
from micro_agent.cli.waiting import sign_of_life

if TYPE_CHECKING:
    from micro_agent.run import Run
    from micro_agent.tools import Tool
    from micro_agent.traces import TraceStore


def resume(
    context: typer.Context,
    run_id: Annotated[
        str | None, typer.Argument(metavar="ID", show_default=False, help="Run ID, the first digits of one, or last.")
    ] = None,
    last: Annotated[bool, option("--last", env="MICRO_AGENT_LAST", help="Resume the latest open run.")] = False,
    show: Annotated[bool, option("--list", env="MICRO_AGENT_LIST", help="List open runs.")] = False,
    approve: Confirmations = None,
    base_url: BaseUrl = None,
    toolset: Toolset = None,
    repo: Repo = None,
    sandbox: SandboxKind = None,
    tools: Tools = None,
    mcp: Mcp = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    max_tokens: MaxTokens = None,
    think: Think = None,
    phoenix: Phoenix = None,
    traces_dir: TracesDir = None,
    as_json: Json = False,
) -> None:
    """Resume a run that is waiting or was killed, on its own model."""
    from micro_agent.errors import ConfigurationError

    if [run_id is not None, last, show].count(True) != 1:
        raise ConfigurationError("name one run to resume: its ID or --last; --list shows what is open")
    repository = repository_of(toolset, repo, sandbox)
    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, max_tokens=max_tokens,
        think=think, repository=repository, mcp=mcp,
    )  # fmt: skip
    store = store_of(found, traces_dir, repository)
    if show:
        _list(store, as_json=as_json)
        return
    none = "no run waits to be resumed; micro-agent resume --list shows what is open"
    run = store.peek(open_run_of(store, run_id or "last", lambda run: not run.busy and run.question is not None, none))
    context.with_resource(seen(phoenix))
    context.with_resource(sign_of_life(wanted=not as_json))
    offered = tools_of(found, repository, store, run.coach)
    _require(run, offered)
    from micro_agent import MicroAgent
    from micro_agent.cli import outcome
    from micro_agent.cli.prompt import confirmer
    from micro_agent.models.recorded import model_of

    confirm = confirmer(approve.value if approve else None)
    lm = model_of(run, found, base_url=base_url)
    check_think(think, lm)
    agent = MicroAgent(
        tools=list(offered.values()), lm=lm, rules=rules_of(found),
        traces=store, settings=found, confirm=confirm, **as_coached(run.coach),
    )  # fmt: skip
    outcome.report(
        lambda cancel: agent.resume(run.id, cancel=cancel), store, as_json=as_json,
        again=again_with(
            repository, tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, mcp=mcp
        ),
    )  # fmt: skip


def _require(run: "Run", offered: "dict[str, Tool]") -> None:
    """Refuse to resume a run without the tools that it has used or asks about; say so where the tools differ else."""
    from micro_agent.errors import ConfigurationError
    from micro_agent.run.usage import NEVER_RAN
    from micro_agent.tools import digest
    from micro_agent.tools.registry import callable_names

    used = {step.tool for step in run.steps if step.is_tool and step.error not in NEVER_RAN}
    if run.confirmation is not None:
        used.add(run.confirmation["tool"])
    if gone := sorted(used - callable_names(offered)):
        told = f"run {run.id} uses tools that are not loaded: {', '.join(gone)}"
        raise ConfigurationError(f"{told}; resume it with the --tools that it was asked with")
    if run.digests.get("tools", now := digest(offered)) != now:
        say("The tools are not those that the run began with; the model is offered those of now.")


def _list(store: "TraceStore", *, as_json: bool) -> None:
    from dataclasses import asdict

    runs = store.open_runs()
    if as_json:
        print_json([asdict(run) for run in runs])
        return
    for run in runs:
        state = "interrupted" if run.status == "running" else run.status or "unreadable"
        state = "under way" if run.busy else state
        decided = f" ({run.decision})" if run.decision else ""
        said = shorten(run.question or run.damage or "", 60, placeholder="…")
        print_text(f"{run.id}  {run.ts or '-':24}  {state}{decided}  {said}")
    if not runs:
        say("No run is open.")
