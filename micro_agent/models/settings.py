"""What the environment says about models, prices and folders: one typed, checked `Settings`. Imports no DSPy.

Each field is read from the environment variable of its name in capitals (``llm_provider`` from ``LLM_PROVIDER``). An
empty variable counts as unset. A ``.env`` file is read only where `load_settings` is told to.
"""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from micro_agent.errors import ConfigurationError

Provider = Literal["openai", "ollama", "litellm", "mock"]
PROVIDERS: tuple[Provider, ...] = ("openai", "ollama", "litellm", "mock")

OPENAI_PUBLIC_URL = "https://api.openai.com/v1"
OLLAMA_DEFAULT_URL = "http://127.0.0.1:11434"

_DEFAULT_PORT = {"http": 80, "https": 443}
_ALSO = {"ollama_host": ("OLLAMA_HOST", "OLLAMA_API_BASE", "OLLAMA_BASE_URL")}


def keep_offline() -> None:
    """Make DSPy and LiteLLM use the price tables they ship, instead of fetching one from a public host at first use.

    Must run before DSPy's first model call. A value that the user has set stands.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def is_public_openai(url: str) -> bool:
    """Whether ``url`` is OpenAI's own service, as opposed to a compatible server that may borrow its model names."""
    return urlsplit(url).hostname == urlsplit(OPENAI_PUBLIC_URL).hostname


def http_url(text: str) -> str:
    """The base URL in ``text`` without a slash at its end.

    Raises:
        ValueError: It is no ``http://`` or ``https://`` URL with a host and a port that can be one, or it has a
            password in it, which would be shown wherever the address is.
    """
    parts = urlsplit(text)
    if parts.scheme not in _DEFAULT_PORT or not parts.hostname or parts.port == 0 or "@" in parts.netloc:
        raise ValueError("not an http:// or https:// URL (without a password)")
    return text.rstrip("/")


def ollama_url(text: str) -> str:
    """The base URL of the Ollama server that ``text`` names, in the forms that Ollama's own ``OLLAMA_HOST`` has.

    ``host``, ``host:port``, ``:port`` and whole URLs; the port is 11434 unless the URL has a scheme. An address to
    listen on (``0.0.0.0``, ``[::]``) becomes the loopback one. A path of ``/v1`` or ``/api`` at the end is left out.
    Source: ``envconfig.Host`` of Ollama.

    Raises:
        ValueError: It names no host.
    """
    scheme, mark, rest = text.partition("://")
    scheme, rest = (scheme.lower(), rest) if mark else ("http", text)
    if scheme not in _DEFAULT_PORT or re.search(r"[\s@]", text):
        raise ValueError("not a host, host:port or http:// URL (without a password)")
    authority, _, path = rest.partition("/")
    if re.fullmatch(r"[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F]*", authority):
        authority = f"[{authority}]"
    parts = urlsplit(f"{scheme}://{authority}")
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname)
    port = parts.port or (_DEFAULT_PORT[scheme] if mark else 11434)
    path = re.sub(r"(^|/)(v1|api)$", "", path.rstrip("/"))
    return f"{scheme}://{f'[{host}]' if ':' in str(host) else host}:{port}{path and '/' + path}"


def _state_dir() -> Path:
    """``$XDG_STATE_HOME/micro-agent``; a relative value is ignored, as the XDG specification asks."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "micro-agent"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _split(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class Settings(BaseSettings):
    """The settings of one process. Each description says what is allowed."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True, protected_namespaces=())

    llm_provider: Annotated[Provider, BeforeValidator(_lower)] = Field(
        default="openai", description=f"one of {', '.join(PROVIDERS)}"
    )
    llm_fallback: bool = Field(default=True, description="true or false")
    llm_timeout: float = Field(default=120.0, gt=0, le=86400, description="seconds, more than 0, at most 86400")
    """Seconds for one model call with its retries."""
    temperature: float = Field(default=0.2, ge=0, le=2, description="a number from 0 to 2")
    max_tokens: int = Field(default=1024, ge=1, description="a whole number from 1")
    context_length: int | None = Field(default=None, ge=1, description="a whole number of tokens from 1, or unset")
    """Tokens of prompt and reply together, where the server does not say it; Ollama has ``ollama_num_ctx``."""
    use_tool_calls: bool | None = Field(default=None, description="true or false, or unset to choose by provider")
    """Forces the native (true) or the JSON mode (false)."""

    openai_api_key: SecretStr | None = Field(default=None, description="a key")
    openai_model: str = Field(default="gpt-4o-mini", description="the name of a model")
    openai_base_url: Annotated[str, AfterValidator(http_url)] = Field(
        default=OPENAI_PUBLIC_URL, description="a URL such as http://127.0.0.1:8080/v1"
    )
    openai_input_price_per_1k: float | None = Field(default=None, ge=0, lt=1e6, description="US dollars, 0 or more")
    openai_output_price_per_1k: float | None = Field(default=None, ge=0, lt=1e6, description="US dollars, 0 or more")

    ollama_host: Annotated[str, AfterValidator(ollama_url)] = Field(
        default=OLLAMA_DEFAULT_URL,
        validation_alias=AliasChoices(*map(str.lower, _ALSO["ollama_host"])),
        description="host, host:port or a URL such as http://127.0.0.1:11434",
    )
    ollama_model: str | None = Field(default=None, description="the name of a model")
    """``None``: the first model that the server lists."""
    ollama_num_ctx: int = Field(default=8192, ge=1, description="a whole number of tokens from 1")
    ollama_keep_alive: str | None = Field(
        default=None,
        pattern=r"^-?(\d+|(\d+(\.\d+)?(h|ms|m|s))+)$",
        description="seconds, or a time such as 10m; -1 for ever",
    )

    litellm_model: str | None = Field(default=None, description="provider/model")

    compiled_demos_path: Path = Field(default=Path("opt/plan_demos.json"), description="a path")
    traces_dir: Path = Field(default=Path("traces"), description="a path")
    micro_agent_state_dir: Path = Field(default_factory=_state_dir, description="a path")
    micro_agent_log: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = Field(
        default="warning", description="debug, info, warning or error"
    )
    tools_modules: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="module names with commas between"
    )

    @model_validator(mode="before")
    @classmethod
    def _blank_is_unset(cls, data: dict[str, Any]) -> dict[str, Any]:
        stripped = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
        return {key: value for key, value in stripped.items() if value != ""}


def load_settings(*, env_file: str | None = None) -> Settings:
    """The settings of the environment and, under it, of ``env_file`` (which need not exist).

    Only the variables of `Settings` are taken from the file, and the environment itself is not changed: the key of a
    provider that LiteLLM reaches has to stand in the environment.

    Raises:
        ConfigurationError: A variable holds what it must not; one line names each such variable, what it holds (never
            the value of a secret) and what is allowed.
    """
    try:
        return Settings(_env_file=env_file)  # pyright: ignore[reportCallIssue]
    except ValidationError as error:
        raise ConfigurationError("; ".join(map(_complaint, error.errors(include_url=False)))) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{env_file} cannot be read: {error}") from error


def _complaint(error: Any) -> str:
    name = str(error["loc"][0])
    variable = next((v for v in _ALSO.get(name, ()) if os.environ.get(v)), name.upper())
    return f"{variable} is {shown(error['input'])}; allowed: {Settings.model_fields[name].description}"


def shown(value: Any) -> str:
    """``value`` in quotes and short, unless it may hold a secret: a key in the wrong place, ``user:password@``."""
    text = str(value)
    if text.startswith("sk-") or "@" in text:
        return "not valid (it is not shown, as it may be a secret)"
    return repr(text if len(text) <= 60 else text[:57] + "...")
