"""`micro-agent replay`: a recorded run shown, verified against today's loop, or continued from one of its steps."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from micro_agent.cli.coached import as_coached
from micro_agent.cli.messages import is_terminal, print_json, print_text, say
from micro_agent.cli.options import (
    Again,
    Confirmations,
    Json,
    Mcp,
    Mode,
    NoBuiltinTools,
    NoRequiredTools,
    Tools,
    TracesDir,
    again_with,
    is_typed,
    option,
    rules_of,
    settings,
    store_of,
    tools_of,
)
from micro_agent.cli.repository import Repo, repository_of
from micro_agent.cli.run_ids import trace_of
from micro_agent.cli.waiting import sign_of_life

if TYPE_CHECKING:
    from micro_agent.models.settings import Settings
    from micro_agent.replay import Verdict
    from micro_agent.run import Run
    from micro_agent.tools import Tool
    from micro_agent.traces import TraceStore

    Offered = Callable[[Mapping[str, Any] | None], dict[str, Tool]]

_ANY = {"context", "paths", "path", "repo", "traces_dir", "index", "as_json"}
_SHOW = {"html"}
_TOOLS = {"tools", "no_builtin_tools", "no_required_tools"}
_VERIFY = {"verify", "live_tools"} | _TOOLS
_FORK = {
    "fork_at", "provider", "model", "base_url", "mode", "max_steps", "max_time", "max_cost", "max_bytes", "approve",
    "stream", *_TOOLS,
}  # fmt: skip


def replay(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID|PATH", show_default=False, help="Run ID, last, or a trace; several with --verify."),
    ] = None,
    path: Annotated[
        Path | None, option("--path", metavar="FILE", env="MICRO_AGENT_TRACE", help="A trace file.")
    ] = None,
    index: Annotated[
        int, option(metavar="K", env="MICRO_AGENT_INDEX", help="Which record of the trace; -1 is the latest.")
    ] = -1,
    html: Annotated[
        Path | None, option("--html", metavar="OUT", env="MICRO_AGENT_REPLAY_HTML", help="Write a page of the run.")
    ] = None,
    verify: Annotated[
        bool, option("--verify", env="MICRO_AGENT_VERIFY", help="Replay runs through today's loop, and compare.")
    ] = False,
    live_tools: Annotated[
        bool, option("--live-tools", env="MICRO_AGENT_LIVE_TOOLS", help="Rerun read-only tools, and compare.")
    ] = False,
    fork_at: Annotated[
        int | None, option(metavar="K", env="MICRO_AGENT_FORK_AT", help="Continue live after step K, as a new run.")
    ] = None,
    provider: Annotated[
        str | None, option(metavar="P", env="MICRO_AGENT_FORK_PROVIDER", help="Provider of the fork.")
    ] = None,
    model: Annotated[str | None, option(metavar="M", env="MICRO_AGENT_FORK_MODEL", help="Its model.")] = None,
    base_url: Annotated[str | None, option(metavar="U", env="MICRO_AGENT_FORK_BASE_URL", help="Its server.")] = None,
    mode: Annotated[Mode | None, option(metavar="MODE", env="MICRO_AGENT_FORK_MODE", help="Its mode.")] = None,
    max_steps: Annotated[
        int | None, option(metavar="N", env="MICRO_AGENT_MAX_STEPS", help="Its limits: steps, copied ones included;")
    ] = None,
    max_time: Annotated[float | None, option(metavar="S", env="MICRO_AGENT_MAX_TIME", help="seconds;")] = None,
    max_cost: Annotated[float | None, option(metavar="USD", env="MICRO_AGENT_MAX_COST", help="US dollars;")] = None,
    max_bytes: Annotated[
        int | None, option(metavar="N", env="MICRO_AGENT_MAX_BYTES", help="bytes of replies and results.")
    ] = None,
    approve: Confirmations = None,
    tools: Tools = None,
    mcp: Mcp = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    repo: Repo = None,
    traces_dir: TracesDir = None,
    stream: Annotated[bool, option("--stream", env="MICRO_AGENT_STREAM", help="Print text as it arrives.")] = False,
    as_json: Json = False,
) -> None:
    """Show a recorded run, verify recorded runs, or fork one."""
    from micro_agent.errors import ConfigurationError
    from micro_agent.replay import describe, record_of

    _check(context, verify=verify, forks=fork_at is not None)
    repository = repository_of(None, repo)
    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, repository=repository,
        mcp=mcp,
    )  # fmt: skip
    store = store_of(found, traces_dir, repository)
    offered = partial(tools_of, found, repository, store)  # given how a run was coached, the tools that it had
    known = [trace_of(store, name, here=repository is None) for name in paths or ()]
    named = known or ([] if path is None else [path])
    if verify:
        _verify(found, named, index, offered, live_tools=live_tools, as_json=as_json)
    if len(named) != 1:
        told = "name the run" if not named else "name one run"
        raise ConfigurationError(f"{told}: its ID, last, or the path of its trace")
    run = record_of(named[0], index)
    if fork_at is not None:
        context.with_resource(sign_of_life(wanted=not as_json))
        limits = {"max_steps": max_steps, "max_time": max_time, "max_cost": max_cost, "max_bytes": max_bytes}
        wanted = {"provider": provider, "model": model, "base_url": base_url, "mode": mode and mode.value}
        _fork(
            found, run, fork_at, wanted, {name: limit for name, limit in limits.items() if limit is not None}, offered,
            approve=approve and approve.value, store=store, stream=stream, as_json=as_json,
            again=again_with(
                repository, tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, mcp=mcp
            ),
        )  # fmt: skip
    if html is not None:
        _write_page(html, run, named[0])
    if as_json:
        print_json(run)
    elif html is None:
        print_text("\n".join(describe(run)))


def _check(context: typer.Context, *, verify: bool, forks: bool) -> None:
    """Refuse what was typed and would have no effect."""
    from micro_agent.errors import ConfigurationError

    if verify and forks:
        raise ConfigurationError("--verify and --fork-at are two things: give one of them")
    fits = _ANY | (_VERIFY if verify else _FORK if forks else _SHOW)
    for parameter in context.command.params:
        if is_typed(context, parameter.name or "") and parameter.name not in fits:
            if parameter.name in _SHOW:
                raise ConfigurationError(f"{parameter.opts[-1]} shows a run: leave out --verify and --fork-at")
            with_ = "--verify" if parameter.name in _VERIFY else "--fork-at"
            raise ConfigurationError(f"{parameter.opts[-1]} goes with {with_}; to show a run, name it and nothing else")


def _write_page(out: Path, run: "Run", trace: Path) -> None:
    from micro_agent.page.one_file import write_run

    write_run(out, run, trace=trace)
    say(f"Page: {out}")


def _verify(
    found: "Settings", paths: list[Path], index: int, offered: "Offered", *, live_tools: bool, as_json: bool
) -> None:
    from micro_agent.errors import ConfigurationError

    if not paths:
        raise ConfigurationError("nothing is named to verify: give traces or folders of them, such as traces/")
    from micro_agent import MicroAgent
    from micro_agent.replay import recorded, verify

    @cache
    def agent(coach: str) -> MicroAgent:
        record = json.loads(coach)
        tools = list(offered(record).values())
        return MicroAgent(tools=tools, rules=rules_of(found), settings=found, **as_coached(record))

    counted = Counter[str]()
    for item in recorded(paths, index):
        as_then = agent(json.dumps(item.run and item.run.coach))
        (verdict,) = verify([item], as_then, live_tools=live_tools)
        counted[verdict.outcome] += 1
        if as_json:
            print_json(_plain(verdict))
        elif verdict.outcome != "same" or verdict.notes:
            print_text("\n".join(verdict.lines()))
    same, differ, failed = (counted[outcome] for outcome in ("same", "differs", "not_replayed"))
    if as_json:
        print_json({"runs": counted.total(), "same": same, "differ": differ, "not_replayed": failed})
    else:
        runs = f"{counted.total()} run{'' if counted.total() == 1 else 's'}"
        print_text(f"{runs}: {same} the same, {differ} differ, {failed} could not be replayed")
    raise typer.Exit(0 if same == counted.total() else 1)


def _plain(verdict: "Verdict") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(verdict)


def _fork(
    found: "Settings", run: "Run", at: int, wanted: dict[str, str | None], limits: dict[str, float],
    offered: "Offered", *, approve: Any, store: "TraceStore", stream: bool, as_json: bool, again: Again,
) -> NoReturn:  # fmt: skip
    from micro_agent import MicroAgent
    from micro_agent.cli import outcome
    from micro_agent.cli.prompt import confirmer
    from micro_agent.replay import fork
    from micro_agent.rules.limits import limits_of

    live = stream and not as_json
    mode: Any = wanted.pop("mode") or (run.mode if not any(wanted.values()) else None) or "auto"
    agent = MicroAgent(
        tools=list(offered(run.coach).values()), lm=_model(found, run, **wanted), mode=mode, rules=rules_of(found),
        traces=store, settings=found, confirm=confirmer(approve), system=run.system,
        **as_coached(run.coach),
    )  # fmt: skip
    held = replace(limits_of(run), **limits)
    emit = outcome.Printer() if live else None
    on_step = outcome.print_step if is_terminal(sys.stderr) and not live else None
    outcome.report(
        lambda cancel: fork(run, at, agent, limits=held, emit=emit, on_step=on_step, cancel=cancel),
        store, as_json=as_json, streamed=live, again=again,
    )  # fmt: skip


def _model(found: "Settings", run: "Run", *, provider: str | None, model: str | None, base_url: str | None) -> Any:
    """The model that was asked for; what is not said is as in the recorded run, as long as the provider is."""
    from micro_agent import configure_lm
    from micro_agent.models.recorded import model_of, recorded_lm

    if run.provider is None or provider not in (None, run.provider):
        return configure_lm(provider, model, base_url, settings=found, fallback=False)
    if not base_url:
        _agree_to_server(found, run)
    if model is None:
        return model_of(run, found, base_url=base_url)
    return recorded_lm(run.provider, model, run.base_url, found, given=base_url)


def _agree_to_server(found: "Settings", run: "Run") -> None:
    """Ask whether a run may go to a server that its record names and nobody today."""
    from micro_agent.cli.prompt import agreed
    from micro_agent.errors import ConfigurationError
    from micro_agent.models.recorded import foreign_url

    url = foreign_url(run.provider or "", run.base_url, found)
    if url is None or agreed(f"The record names the server {url}, and today's settings do not. Send it this run?"):
        return
    told = f"the record names the server {url}, and today's settings do not"
    raise ConfigurationError(f"{told}: pass --base-url {url} to send it this run, or the address of another")
