"""`micro-agent doctor`: what a run needs, looked at, with what to do where something is missing."""

from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.messages import print_json, print_text
from micro_agent.cli.options import (
    AskedMode,
    BaseUrls,
    Json,
    Mode,
    Model,
    NoBuiltinTools,
    NoRequiredTools,
    Provider,
    Tools,
    TracesDir,
    option,
    settings,
    tools_of,
)

if TYPE_CHECKING:
    from micro_agent.doctor import Check

ENVIRONMENT = (
    "Environment: MICRO_AGENT_ and the option's name in capitals, or LLM_PROVIDER, TRACES_DIR, "
    "MICRO_AGENT_DOCTOR_TIMEOUT. Models and servers: as for ask."
)


def doctor(
    provider: Provider = None,
    model: Model = None,
    base_url: BaseUrls = None,
    mode: AskedMode = Mode.auto,
    tools: Tools = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    timeout: Annotated[
        float, option(metavar="S", env="MICRO_AGENT_DOCTOR_TIMEOUT", help="Timeout of each request, in seconds.")
    ] = 30.0,
    traces_dir: TracesDir = None,
    as_json: Json = False,
) -> None:
    """Check server, model and directories, with three tiny model calls. Exits with 1 if a check fails."""
    from micro_agent.doctor import examine
    from micro_agent.models.target import Target, provider_named

    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, provider=provider
    )
    offered = list(tools_of(found))
    first, others = (base_url[0], base_url[1:]) if base_url else (None, [])
    named = provider_named(provider) if provider else None
    asked = Target(named, model or None, first or None, others=tuple(others))
    checks: list[Check] = []
    for check in examine(asked, found, mode=mode.value, tools=offered, traces_dir=traces_dir, timeout_s=timeout):
        checks.append(check)
        if not as_json:
            advice = f"\n                {check.advice}" if check.advice else ""
            print_text(f"{check.state:<4}  {check.name:<9} {check.told}{advice}")
    healthy = all(check.state != "fail" for check in checks)
    if as_json:
        print_json({"ok": healthy, "checks": [check.as_dict() for check in checks]})
    raise typer.Exit(0 if healthy else 1)
