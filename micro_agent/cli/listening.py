"""The options of what listens on a port: `micro-agent serve` and `micro-agent proxy`."""

from typing import Annotated

from micro_agent.cli.options import option

LOOPBACK = "127.0.0.1"

Host = Annotated[str, option(metavar="ADDRESS", env="MICRO_AGENT_HOST", help="Address to listen on.")]
Port = Annotated[int, option(metavar="N", env="MICRO_AGENT_PORT", help="Port; 0 picks a free one.")]
MaxConnections = Annotated[
    int | None, option(metavar="N", env="MICRO_AGENT_MAX_CONNECTIONS", help="Limit of concurrent connections [512].")
]
AllowLoopbackOrigins = Annotated[
    bool,
    option(
        "--allow-loopback-origins",
        env="MICRO_AGENT_ALLOW_LOOPBACK_ORIGINS",
        help="Allow pages from other ports of this machine.",
    ),
]
Grace = Annotated[
    float, option(metavar="S", env="MICRO_AGENT_GRACE", help="Seconds for what is under way at shutdown.")
]
