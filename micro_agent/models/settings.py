"""What the environment says about models, prices and folders: one typed, checked `Settings`. Imports no DSPy.

Each field is read from the environment variable of its name in capitals (``llm_provider`` from ``LLM_PROVIDER``). An
empty variable counts as unset. A ``.env`` file is read only where `load_settings` is told to.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from micro_agent.errors import ConfigurationError
from micro_agent.files.known_secrets import remember_file, remember_settings
from micro_agent.models.addresses import OLLAMA_DEFAULT_URL, OPENAI_PUBLIC_URL, http_url, ollama_url, shown
from micro_agent.models.env_file import check_env_file

Provider = Literal["openai", "ollama", "litellm", "tiny", "mock"]
PROVIDERS: tuple[Provider, ...] = ("openai", "ollama", "litellm", "tiny", "mock")

MOST_SAMPLES = 20
"""So many replies to one request may be asked for."""
_ALSO = {"ollama_host": ("OLLAMA_HOST", "OLLAMA_API_BASE", "OLLAMA_BASE_URL")}
"""Settings that have more than one variable; the first that is set counts."""


def keep_offline() -> None:
    """Make DSPy and LiteLLM use the price tables they ship, instead of fetching one from a public host at first use.

    Must run before DSPy's first model call. A value that the user has set stands.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def _state_dir() -> Path:
    """``$XDG_STATE_HOME/micro-agent``; a relative value is ignored, as the XDG specification asks."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "micro-agent"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _split(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class _Environment(PydanticBaseSettingsSource):
    """The variables of the fields, whose values are all plain text.

    Pydantic's own source looks at the type of each field again each time: a millisecond, and each agent reads them.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value of a field, ``None`` where there is none; its name; that it is no JSON."""
        return self().get(field_name), field_name, False  # pragma: no cover (pydantic wants it there; nobody calls it)

    def __call__(self) -> dict[str, Any]:
        """The value of each field that has one."""
        known = {name.lower(): value for name, value in os.environ.items() if value != ""}
        names = {name: [one.lower() for one in _ALSO.get(name, (name,))] for name in self.settings_cls.model_fields}
        return {name: known[one] for name, ones in names.items() for one in reversed(ones) if one in known}


class Settings(BaseSettings):
    """The settings of one process. Each description says what is allowed."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True, protected_namespaces=())

    llm_provider: Annotated[Provider | None, BeforeValidator(_lower)] = Field(
        default=None, description=f"one of {', '.join(PROVIDERS)}"
    )
    """``None``: what else names a provider counts, see `micro_agent.models.fallback.named`."""
    llm_fallback: bool | None = Field(default=None, description="true or false, or unset")
    """Whether another provider may be used. ``None``: only where none is named."""
    llm_timeout: float = Field(default=120.0, gt=0, le=86400, description="seconds, more than 0, at most 86400")
    """Seconds for one model call with its retries."""
    temperature: float = Field(default=0.2, ge=0, le=2, description="a number from 0 to 2")
    samples: int = Field(default=1, ge=1, le=MOST_SAMPLES, description=f"a whole number from 1 to {MOST_SAMPLES}")
    """So many replies to one request are asked for before the best is chosen; two that agree are enough."""
    resamples: int = Field(default=2, ge=0, le=MOST_SAMPLES, description=f"a whole number from 0 to {MOST_SAMPLES}")
    """So often a reply that comes to nothing is sampled again before the model is told of it."""
    max_tokens: int = Field(default=1024, ge=1, description="a whole number from 1")
    context_length: int | None = Field(default=None, ge=1, description="a whole number of tokens from 1, or unset")
    """Tokens of prompt and reply together, where the server does not say it; Ollama has ``ollama_num_ctx``."""
    use_tool_calls: bool | None = Field(default=None, description="true or false, or unset to choose by provider")
    """Forces the native (true) or the JSON mode (false)."""

    openai_api_key: SecretStr | None = Field(default=None, description="a key")
    openai_model: str = Field(default="gpt-4o-mini", description="the name of a model")
    openai_base_url: Annotated[str, AfterValidator(http_url)] = Field(
        default=OPENAI_PUBLIC_URL, description="a URL such as http://127.0.0.1:8080/v1, without password and query"
    )
    openai_input_price_per_1k: float | None = Field(default=None, ge=0, lt=1e6, description="US dollars, 0 or more")
    openai_output_price_per_1k: float | None = Field(default=None, ge=0, lt=1e6, description="US dollars, 0 or more")

    ollama_host: Annotated[str, AfterValidator(ollama_url)] = Field(
        default=OLLAMA_DEFAULT_URL,
        validation_alias=AliasChoices(*map(str.lower, _ALSO["ollama_host"])),
        description="host, host:port or a URL such as http://127.0.0.1:11434, without password and query",
    )
    ollama_model: str | None = Field(default=None, description="the name of a model")
    """``None``: the first model that the server lists."""
    ollama_num_ctx: int = Field(default=8192, ge=1, description="a whole number of tokens from 1")
    ollama_keep_alive: str | None = Field(
        default=None,
        pattern=r"^-?(\d+|(\d+(\.\d+)?(h|ms|m|s))+)$",
        description="seconds, or a time such as 10m; -1 for ever",
    )
    ollama_think: bool | None = Field(default=None, description="true or false, or unset to leave it to the model")
    """Whether a model that can think does so before it answers."""

    litellm_model: str | None = Field(default=None, description="provider/model")

    compiled_demos_path: Path = Field(default=Path("opt/plan_demos.json"), description="a path")
    traces_dir: Path = Field(default=Path("traces"), description="a path")
    micro_agent_state_dir: Path = Field(default_factory=_state_dir, description="a path")
    micro_agent_approval_ttl: float = Field(
        default=86400.0, gt=0, le=1e9, description="seconds, more than 0, at most 1e9"
    )
    """Seconds after which a question about a call expires."""
    micro_agent_log: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = Field(
        default="warning", description="debug, info, warning or error"
    )
    tools_modules: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="Python files and import names with commas between"
    )
    micro_agent_mcp: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="files that name MCP servers, with commas between"
    )
    micro_agent_finish: Annotated[Literal["auto", "ask", "text"], BeforeValidator(_lower)] = Field(
        default="auto", description="auto, ask or text"
    )
    gate_enabled: bool | None = Field(default=None, description="true or false")
    """False: the gates of the coding agent are off, whatever ``gate_mode`` says."""
    gate_mode: Annotated[Literal["block", "blocking", "warn", "warning", "off"] | None, BeforeValidator(_lower)] = (
        Field(default=None, description="blocking (or block), warning (or warn), or off")
    )
    gate_max_no_progress_steps: int | None = Field(default=None, ge=1, description="a whole number of steps from 1")
    gate_warning_interval: int | None = Field(default=None, ge=1, description="a whole number of steps from 1")
    micro_agent_no_builtin_tools: bool = Field(default=False, description="true or false")
    """Whether the command line leaves ``calculator`` and ``now`` out."""
    micro_agent_no_required_tools: bool = Field(default=False, description="true or false")
    """Whether the command line leaves the rule out that asks for them."""

    _file: str | None = PrivateAttr(default=None)
    _in_file: frozenset[str] = PrivateAttr(default=frozenset())

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        """Without a file none is looked for: that would take longer than all the rest, and each agent reads them."""
        file = [dotenv_settings] if getattr(dotenv_settings, "env_file", None) else []
        return init_settings, _Environment(settings_cls), *file, file_secret_settings

    @classmethod
    def read(cls, env_file: str) -> Self:
        """The settings of the environment and, under it, of a file that is there."""
        found = cls(_env_file=env_file)  # pyright: ignore[reportCallIssue]
        found._file = env_file
        found._in_file = frozenset(found.model_fields_set - cls().model_fields_set)
        return found

    def file_of(self, name: str) -> str | None:
        """The file that a setting has its value from; ``None``: it is of the environment, of code, or the default."""
        return self._file if name in self._in_file else None

    def having(self, **given: Any) -> Self:
        """These settings with others in their place that were given by hand, and are not checked here."""
        found = self.model_copy(update=given)
        found._in_file = self._in_file - given.keys()
        return found

    def with_defaults(self, **given: Any) -> Self:
        """These settings with other defaults: what is set stands, and what is not still counts as not set."""
        found = self.model_copy(
            update={name: value for name, value in given.items() if name not in self.model_fields_set}
        )
        found.model_fields_set.intersection_update(self.model_fields_set)
        return found

    @model_validator(mode="before")
    @classmethod
    def _blank_is_unset(cls, data: dict[str, Any]) -> dict[str, Any]:
        stripped = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
        return {key: value for key, value in stripped.items() if value != ""}

    def model_post_init(self, context: Any, /) -> None:
        """Keys are kept out of what leaves the process from now on."""
        remember_settings(self)


def load_settings(*, env_file: str | None = None) -> Settings:
    """The settings of the environment and, under it, of ``env_file`` (which need not exist).

    Only the variables of `Settings` are taken from the file, and the environment itself is not changed: the key of a
    provider that LiteLLM reaches has to stand in the environment.

    Raises:
        ConfigurationError: A variable holds what it must not; one line names each such variable, what it holds (never
            the value of a secret) and what is allowed. Or the file cannot be read, or is a pipe or a device.
    """
    try:
        if env_file is None or not check_env_file(env_file):
            return Settings()
        remember_file(env_file)
        return Settings.read(env_file)
    except ValidationError as error:
        raise ConfigurationError("; ".join(map(_complaint, error.errors(include_url=False)))) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{env_file} cannot be read: {error}") from error


def variable_of(name: str) -> str:
    """The variable that a setting has its value from; where it has several, the first that is set."""
    return next((variable for variable in _ALSO.get(name, ()) if os.environ.get(variable)), name.upper())


def _complaint(error: Any) -> str:
    name = str(error["loc"][0])
    return f"{variable_of(name)} is {shown(error['input'])}; allowed: {Settings.model_fields[name].description}"
