"""Models: settings, the choice of a provider, one engine a provider, prices, errors and retries.

Importing this package imports no DSPy; `configure_lm` does.
"""

import sys
from typing import TYPE_CHECKING, Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.fallback import Announce, Target, choose, provider_named
from micro_agent.models.settings import Settings, keep_offline, load_settings

if TYPE_CHECKING:
    import dspy

__all__ = ["Settings", "configure_lm", "load_settings"]


def configure_lm(
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    settings: Settings | None = None,
    fallback: bool | None = None,
    announce: Announce | None = None,
    **lm_kwargs: Any,
) -> "dspy.LM":
    """A ``dspy.LM`` for the provider asked for, or, when it cannot be used, the next of Ollama, OpenAI and the mock.

    Nothing is configured globally and nothing is cached or retried by the LM itself. It carries ``provider_name`` and
    ``fallback_from``, a list of ``{"provider", "reason"}`` of those that were passed over. Its engine has
    ``default_mode``, the mode that ``auto`` stands for. For Ollama the server is asked for its models at once; no other
    server is asked anything.

    Args:
        provider: ``openai``, ``ollama``, ``litellm`` or ``mock``; by default ``LLM_PROVIDER``.
        model: Its model. Like ``base_url`` and ``api_key`` it counts for the provider asked for, never for a fall-back.
        base_url: Its address.
        api_key: Its key, where it takes one (``openai``, ``litellm``).
        settings: By default those of the environment.
        fallback: Whether another provider may be used; by default ``LLM_FALLBACK``.
        announce: Takes each line for a person: a fall-back, a model that was picked, the mock. By default stderr.
        **lm_kwargs: Sampling settings and other arguments of ``dspy.LM``; they win over ``settings``.

    Raises:
        ConfigurationError: No such provider, or it cannot be used and there is no fall-back (`UnusableError`); one
            line says what to do.
    """
    settings = settings or load_settings()
    asked = Target(provider_named(provider or settings.llm_provider), model or None, base_url or None, api_key or None)
    allowed = settings.llm_fallback if fallback is None else fallback
    target = choose(asked, settings, fallback=allowed, announce=announce or _to_stderr)
    keep_offline()
    lm = _lm(target, settings, lm_kwargs)
    lm.__dict__.update(provider_name=target.provider, fallback_from=list(target.fallback_from))
    return lm


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"micro-agent: {line}\n")


def _lm(target: Target, settings: Settings, lm_kwargs: dict[str, Any]) -> Any:
    """The LM. OpenAI's reasoning models refuse our defaults, so those are left out where DSPy says so."""
    import dspy

    engine = _engine(target, settings)
    name = str(target.model) if target.provider == "litellm" else f"{target.provider}/{target.model}"
    sampling: dict[str, Any] = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    asked: dict[str, Any] = {
        key: value if key in settings.model_fields_set else None for key, value in sampling.items()
    }
    fixed: dict[str, Any] = {"engine": engine, "async_engine": engine.twin(), "cache": False, "num_retries": 0}
    try:
        try:
            return dspy.LM(name, **{**fixed, **sampling, **lm_kwargs})
        except dspy.LMConfigurationError:
            return dspy.LM(name, **{**fixed, **asked, **lm_kwargs})
    except (dspy.LMConfigurationError, ValueError, TypeError) as error:
        raise ConfigurationError(" ".join(str(error).split())) from error


def _engine(target: Target, settings: Settings) -> Any:
    """The engine of the provider; its module is imported here, when it is used."""
    named: dict[str, Any] = {"model": str(target.model), "timeout_s": settings.llm_timeout}
    match target.provider:
        case "openai":
            from micro_agent.models.openai import OpenAIEngine

            return OpenAIEngine(base_url=str(target.base_url), api_key=target.api_key, **named)
        case "ollama":
            from micro_agent.models.ollama import OllamaEngine

            own: dict[str, Any] = {"num_ctx": settings.ollama_num_ctx, "keep_alive": _keep_alive(settings)}
            return OllamaEngine(base_url=str(target.base_url), **own, **named)
        case "litellm":
            from micro_agent.models.litellm import LiteLLMEngine

            return LiteLLMEngine(base_url=target.base_url, api_key=target.api_key, **named)
        case _:
            from micro_agent.models.mock import MockEngine

            return MockEngine()


def _keep_alive(settings: Settings) -> str | int | None:
    """Seconds as a number: Ollama takes a string only with a unit."""
    time = settings.ollama_keep_alive
    return int(time) if time and time.lstrip("-").isdigit() else time
