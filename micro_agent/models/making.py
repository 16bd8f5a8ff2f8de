"""The `dspy.LM` of a target that was chosen: its engine, its sampling settings."""

from dataclasses import replace
from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.announcing import Announce, to_stderr
from micro_agent.models.settings import Settings, keep_offline
from micro_agent.models.target import Target


def lm_of(
    target: Target, settings: Settings, lm_kwargs: dict[str, Any] | None = None, *, announce: Announce = to_stderr
) -> Any:
    """The `dspy.LM` that asks a chosen target. It carries ``provider_name`` and ``fallback_from``.

    OpenAI's reasoning models refuse our defaults, so those are left out where DSPy says so. The servers of a target
    with several addresses are asked at once which model they have; ``announce`` is told which are left out, and when.

    Raises:
        ConfigurationError: A sampling setting is wrong, or two servers do not have the same model.
    """
    import dspy

    keep_offline()
    more = lm_kwargs or {}
    engine = _engines(target, settings, announce) if target.others else _engine(target, settings)
    name = str(target.model) if target.provider == "litellm" else f"{target.provider}/{target.model}"
    sampling: dict[str, Any] = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    asked: dict[str, Any] = {
        key: value if key in settings.model_fields_set else None for key, value in sampling.items()
    }
    fixed: dict[str, Any] = {"engine": engine, "async_engine": engine.twin(), "cache": False, "num_retries": 0}
    try:
        try:
            lm = dspy.LM(name, **{**fixed, **sampling, **more})
        except dspy.LMConfigurationError:
            lm = dspy.LM(name, **{**fixed, **asked, **more})
    except (dspy.LMConfigurationError, ValueError, TypeError) as error:
        raise ConfigurationError(" ".join(str(error).split())) from error
    lm.__dict__.update(provider_name=target.provider, fallback_from=list(target.fallback_from))
    if target.others:
        from micro_agent.models.context_length import told_by

        told_by(lm)
    return lm


def _engines(target: Target, settings: Settings, announce: Announce) -> Any:
    """The engine that stands for all servers of the target."""
    from micro_agent.models.servers import ServersEngine

    each = [replace(target, base_url=url) for url in (target.base_url, *target.others)]
    return ServersEngine([_engine(one, settings) for one in each], announce=announce)


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
            return OllamaEngine(base_url=str(target.base_url), think=settings.ollama_think, **own, **named)
        case "litellm":
            from micro_agent.models.litellm import LiteLLMEngine

            return LiteLLMEngine(base_url=target.base_url, api_key=target.api_key, **named)
        case "tiny":
            from micro_agent.models.tiny.engine import TinyEngine

            return TinyEngine()
        case _:
            from micro_agent.models.mock import MockEngine

            return MockEngine()


def _keep_alive(settings: Settings) -> str | int | None:
    """Seconds as a number: Ollama takes a string only with a unit."""
    time = settings.ollama_keep_alive
    return int(time) if time and time.lstrip("-").isdigit() else time
