"""What the environment says about the server: one typed, checked `ServerSettings`.

Each field is read from the environment variable of its name in capitals with ``MICRO_AGENT_`` before it (``api_token``
from ``MICRO_AGENT_API_TOKEN``). An empty variable counts as unset.
"""

import re
from ipaddress import ip_address
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from micro_agent.errors import ConfigurationError
from micro_agent.files.known_secrets import remember_settings
from micro_agent.models.addresses import shown
from micro_agent.models.env_file import check_env_file

HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[0-9a-z._-]+)(:(?P<port>[0-9]{1,5}))?")
"""A ``Host`` header in lower case (RFC 9110, section 7.2), without percent-encoding and user names."""

_ORIGIN = re.compile(rf"https?://{HOST.pattern}")
LOOPBACK_ORIGIN = re.compile(r"https?://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
"""Pages that a server of this machine sent."""


def _split(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    return _all(HOST, values, "not a host or host:port")


def _origins(values: tuple[str, ...]) -> tuple[str, ...]:
    return _all(_ORIGIN, values, "not an origin")


def _all(pattern: re.Pattern[str], values: tuple[str, ...], fault: str) -> tuple[str, ...]:
    lower = tuple(value.lower() for value in values)
    if not all(pattern.fullmatch(value) for value in lower):
        raise ValueError(fault)
    return lower


def _sendable(token: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]+", token.get_secret_value()):
        raise ValueError("not a token that fits into a header")
    return token


class ServerSettings(BaseSettings):
    """The settings of one server. Each description says what is allowed."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True, env_prefix="MICRO_AGENT_")

    host: str = Field(default="127.0.0.1", description="an address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="a port from 0 (any free one) to 65535")
    api_token: Annotated[SecretStr, AfterValidator(_sendable)] | None = Field(
        default=None, description="printable ASCII without blanks"
    )
    """What clients have to send; ``None`` lets everybody in who can reach the loopback interface."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), AfterValidator(_hosts)] = Field(
        default=(), description="names such as agent.example or agent.example:8080, with commas between"
    )
    """Names of this server beside the loopback ones and ``host``; without a port, any port."""
    allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), AfterValidator(_origins)] = Field(
        default=(), description="origins such as https://app.example, with commas between"
    )
    """Web pages of other origins whose scripts may use the server."""
    allow_loopback_origins: bool = Field(default=False, description="1 or 0")
    """Whether pages of other ports of this machine may, too: a local front end in a browser."""
    max_body: int = Field(default=1 << 20, ge=1, description="a whole number of bytes from 1")
    max_running: int = Field(default=8, ge=1, description="a whole number of runs from 1")
    max_connections: int = Field(default=512, ge=1, description="a whole number of connections from 1")
    """So many at once, but never more than half of the files that the process may open."""
    header_timeout: float = Field(default=10.0, gt=0, le=3600, description="seconds above 0, up to 3600")
    """Seconds until the head of a request has arrived."""
    body_timeout: float = Field(default=30.0, gt=0, le=3600, description="seconds above 0, up to 3600")
    """Seconds from there until its body has."""
    send_timeout: float = Field(default=60.0, gt=0, le=3600, description="seconds above 0, up to 3600")
    """Seconds in which a client may take nothing of what is sent to it."""
    grace: float = Field(default=10.0, ge=0, le=3600, description="seconds from 0 to 3600")
    """Seconds that runs under way may go on when the server is told to end."""

    @model_validator(mode="before")
    @classmethod
    def _blank_is_unset(cls, data: dict[str, Any]) -> dict[str, Any]:
        stripped = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
        return {key: value for key, value in stripped.items() if value not in ("", None)}

    def model_post_init(self, context: Any, /) -> None:
        """The token is kept out of what leaves the process from now on."""
        remember_settings(self, "micro_agent_")


def load_server_settings(*, env_file: str | None = None, **given: Any) -> ServerSettings:
    """What was ``given`` (a ``None`` counts as not given), under it the environment and ``env_file``.

    Raises:
        ConfigurationError: One of them holds what it must not; the line names it and what is allowed.
    """
    there = env_file is not None and check_env_file(env_file)
    try:
        return ServerSettings(
            _env_file=env_file if there else None,  # pyright: ignore[reportCallIssue]
            **{name: value for name, value in given.items() if value is not None},
        )
    except ValidationError as error:
        raise ConfigurationError("; ".join(map(_complaint, error.errors(include_url=False)))) from error


def require_token(settings: ServerSettings) -> None:
    """Refuse to listen where others can connect while no token is set.

    Raises:
        ConfigurationError: The address is not a loopback one, and there is no token.
    """
    if settings.api_token is None and not is_loopback(settings.host):
        raise ConfigurationError(
            f"listening on {settings.host} lets others connect: set MICRO_AGENT_API_TOKEN, or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that listens on ``host``."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _complaint(error: Any) -> str:
    name = str(error["loc"][0])
    value = "not valid (it is not shown, as it is a secret)" if name == "api_token" else shown(error["input"])
    return f"MICRO_AGENT_{name.upper()} is {value}; allowed: {ServerSettings.model_fields[name].description}"
