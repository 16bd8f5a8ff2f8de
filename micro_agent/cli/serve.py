"""`micro-agent serve`: the HTTP API on this machine."""

from typing import Annotated, Any

from micro_agent.cli.listening import LOOPBACK, AllowLoopbackOrigins, Grace, Host, MaxConnections, Port
from micro_agent.cli.messages import say
from micro_agent.cli.options import (
    AskedMode,
    BaseUrl,
    Demos,
    Fallback,
    MaxBytes,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Mcp,
    Mode,
    Model,
    NoBuiltinTools,
    NoRequiredTools,
    Provider,
    Samples,
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
    tools_of,
)
from micro_agent.cli.repository import Repo, SandboxKind, Toolset, repository_of
from micro_agent.cli.spans import Phoenix, seen
from micro_agent.extras import need

ENVIRONMENT = (
    "Environment: MICRO_AGENT_ and the option's name in capitals, or LLM_PROVIDER, USE_TOOL_CALLS, LLM_FALLBACK, "
    "TRACES_DIR, TOOLS_MODULES, MAX_TOKENS, SAMPLES, OLLAMA_THINK; MICRO_AGENT_API_TOKEN, required on any address but "
    "loopback; MICRO_AGENT_ALLOWED_HOSTS, MICRO_AGENT_ALLOWED_ORIGINS, MICRO_AGENT_MAX_BODY, and "
    "MICRO_AGENT_HEADER_TIMEOUT, _BODY_TIMEOUT, _SEND_TIMEOUT: seconds for a slow client. Models and servers: as for "
    "ask."
)


def serve(
    host: Host = LOOPBACK,
    port: Port = 8000,
    max_running: Annotated[
        int, option(metavar="N", env="MICRO_AGENT_MAX_RUNNING", help="Limit of concurrent runs.")
    ] = 8,
    max_connections: MaxConnections = None,
    allow_loopback_origins: AllowLoopbackOrigins = False,
    grace: Grace = 10.0,
    toolset: Toolset = None,
    repo: Repo = None,
    sandbox: SandboxKind = None,
    system: System = None,
    tools: Tools = None,
    mcp: Mcp = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    max_tokens: MaxTokens = None,
    think: Think = None,
    samples: Samples = None,
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
    phoenix: Phoenix = None,
    traces_dir: TracesDir = None,
) -> None:
    """Serve the HTTP API and a page of runs until SIGINT or SIGTERM. A call that needs confirmation pauses its run."""
    need("server", "fastapi", "uvicorn", "jinja2")
    repository = repository_of(toolset, repo, sandbox)
    from micro_agent import configure_lm
    from micro_agent.coder import settings_for
    from micro_agent.coding.coach import coding_coach
    from micro_agent.coding.patches.store import Patches
    from micro_agent.models.identity import provider_of, traits_of
    from micro_agent.rules.coach import NO_COACH
    from micro_agent.rules.limits import Limits
    from micro_agent.server.agents import Agents
    from micro_agent.server.app import create_app
    from micro_agent.server.health import Backend
    from micro_agent.server.runs import RunPool
    from micro_agent.server.serve import serve as serve_until_told
    from micro_agent.server.settings import load_server_settings

    server = load_server_settings(
        env_file=repository.env_file() if repository else ".env", host=host, port=port, max_running=max_running,
        max_connections=max_connections, grace=grace, allow_loopback_origins=allow_loopback_origins or None,
    )  # fmt: skip
    limits = Limits(max_steps=max_steps, max_time=max_time, max_cost=max_cost, max_bytes=max_bytes)
    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, max_tokens=max_tokens,
        think=think, provider=provider, samples=samples, repository=repository, mcp=mcp,
    )  # fmt: skip
    store = store_of(found, traces_dir, repository)
    own = {} if repository else tools_of(found, None, store)  # what is wrong with them shows before a server is asked
    lm: Any = configure_lm(provider, model, base_url, settings=found, fallback=fallback)
    check_think(think, lm)
    asked = mode_for(found, mode, use_tool_calls)
    helps = repository and settings_for(lm, found, gates="off")
    offered = list((tools_of(found, repository, store, helps.record()) if helps else own).values())
    agents = Agents(
        lm, offered, mode=asked, store=store, settings=found, demos=demos, rules=rules_of(found), system=system,
        coach=coding_coach(helps, offered) if helps else NO_COACH,
    )  # fmt: skip
    agents()  # what is wrong with tools or demos shows now, and not with the first question
    pool = RunPool(agents, store, max_running=server.max_running, limits=limits, resuming=agents.of)
    backend = Backend(provider_of(lm), lm.model, getattr(traits_of(lm), "base_url", None))
    queue = Patches(repository.root, store.state_dir) if repository else None
    app = create_app(pool=pool, store=store, settings=server, backend=backend, queue=queue)
    with seen(phoenix, called=False):
        serve_until_told(app, pool, server, say=say)
