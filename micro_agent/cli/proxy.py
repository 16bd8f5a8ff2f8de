"""`micro-agent proxy`: a server between other people's agents and a model server, which mends what replies lack."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from micro_agent.cli.listening import LOOPBACK, AllowLoopbackOrigins, Grace, Host, MaxConnections, Port
from micro_agent.cli.messages import log_from, say
from micro_agent.cli.options import TracesDir, option, store_of
from micro_agent.extras import need

if TYPE_CHECKING:
    from micro_agent.models.settings import Settings
    from micro_agent.proxy.upstream import Upstream

ENVIRONMENT = (
    "Environment: MICRO_AGENT_ and the option's name in capitals, or TRACES_DIR; MICRO_AGENT_API_TOKEN, required on "
    "any address but loopback, and MICRO_AGENT_UPSTREAM_KEY, the key of the upstream where the client sends none; "
    "OLLAMA_HOST, OLLAMA_NUM_CTX, CONTEXT_LENGTH; MICRO_AGENT_ALLOWED_HOSTS, _ALLOWED_ORIGINS, _MAX_BODY, "
    "_HEADER_TIMEOUT, _BODY_TIMEOUT, _SEND_TIMEOUT: as for serve."
)
MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request where nobody says: a long conversation with pictures in it."""


class Heal(StrEnum):
    """Which calls in a text are made."""

    clear = "clear"
    embedded = "embedded"


def proxy(
    upstream: Annotated[
        str, option(metavar="U", env="MICRO_AGENT_UPSTREAM", help="ollama, or URL of the model server.")
    ] = "ollama",
    host: Host = LOOPBACK,
    port: Port = 8100,
    heal: Annotated[
        Heal, option(metavar="HOW", env="MICRO_AGENT_HEAL", help="clear, or embedded: calls amid text too.")
    ] = Heal.clear,
    ask_again: Annotated[
        bool, option("--ask-again", env="MICRO_AGENT_ASK_AGAIN", help="Ask once more if a required call is missing.")
    ] = False,
    ask_after_prose: Annotated[
        bool, option("--ask-after-prose", env="MICRO_AGENT_ASK_AFTER_PROSE", help="Ask once whether prose was meant.")
    ] = False,
    tell_repeats: Annotated[
        bool, option("--tell-repeats", env="MICRO_AGENT_TELL_REPEATS", help="Tell the model of repeated calls.")
    ] = False,
    context_length: Annotated[
        int | None, option(metavar="N", env="CONTEXT_LENGTH", min=1, help="Tokens of the context [as the server says].")
    ] = None,
    no_record: Annotated[
        bool, option("--no-record", env="MICRO_AGENT_NO_RECORD", help="Keep no record of requests.")
    ] = False,
    max_connections: MaxConnections = None,
    allow_loopback_origins: AllowLoopbackOrigins = False,
    grace: Grace = 10.0,
    traces_dir: TracesDir = None,
) -> None:
    """Mend the replies of a model server for other agents, until SIGINT or SIGTERM."""
    need("server", "fastapi", "uvicorn", "aiohttp", "uvloop")
    import uvloop

    from micro_agent.models.settings import load_settings
    from micro_agent.proxy.app import create_app
    from micro_agent.proxy.engine import Options, Proxy
    from micro_agent.proxy.records import Recorder
    from micro_agent.server.serve import serve
    from micro_agent.server.settings import load_server_settings

    server = load_server_settings(
        env_file=".env", host=host, port=port, max_connections=max_connections, grace=grace,
        allow_loopback_origins=allow_loopback_origins or None,
    )  # fmt: skip
    if "max_body" not in server.model_fields_set:
        server = server.model_copy(update={"max_body": MAX_BODY})
    found = load_settings(env_file=".env")
    log_from(found.micro_agent_log)
    options = Options(heal is Heal.embedded, ask_again, ask_after_prose, tell_repeats)
    shared = Proxy(_upstream(upstream, found, context_length), options)
    if not no_record:
        shared.recorder = Recorder(store_of(found, traces_dir), lambda: shared.metrics.failed("record"))
    # asyncio's own loop is Python: a request takes a quarter more of processor time on it.
    serve(create_app(shared, server), shared, server, say=say, loop=uvloop.new_event_loop)


def _upstream(named: str, found: "Settings", context_length: int | None) -> "Upstream":
    import os

    from micro_agent.proxy.ollama import OllamaUpstream
    from micro_agent.proxy.upstream import HttpUpstream

    context = context_length or found.context_length
    if named.strip().lower() == "ollama":
        told = found.ollama_num_ctx if "ollama_num_ctx" in found.model_fields_set else None
        return OllamaUpstream(found.ollama_host, num_ctx=context_length or told)
    return HttpUpstream(named, key=os.environ.get("MICRO_AGENT_UPSTREAM_KEY") or None, context_length=context)
