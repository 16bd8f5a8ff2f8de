"""The model that a record names, asked again. Records are shared: what one says of a server is not today's user's word.

A server that today's settings do not name for its provider is sent no key, and is announced.
"""

from collections.abc import Sequence
from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.addresses import http_url, origin_of, shown
from micro_agent.models.announcing import to_stderr
from micro_agent.models.fallback import choose
from micro_agent.models.settings import PROVIDERS, Settings
from micro_agent.models.target import Target, provider_named
from micro_agent.run import Run


def foreign_url(provider: str, base_url: str | None, settings: Settings) -> str | None:
    """The address of a record, if today's settings do not name its host for the provider; ``None``: they do.

    Raises:
        ConfigurationError: It is not an address.
    """
    if base_url is None:
        return None
    try:
        url = http_url(base_url)
    except ValueError as error:
        raise ConfigurationError(f"the base URL on record is {shown(base_url)}: {error}") from error
    today = {"openai": settings.openai_base_url, "ollama": settings.ollama_host}.get(provider)
    return None if today is not None and origin_of(url) == origin_of(today) else url


def recorded_lm(
    provider: str, model: str, base_url: str | Sequence[str] | None, settings: Settings, *,
    given: str | Sequence[str] | None = None,
) -> Any:  # fmt: skip
    """The `dspy.LM` of a record.

    Args:
        provider: As it is on record; no other is used.
        model: Its model, as `configure_lm` takes it.
        base_url: Where its server was, or its servers.
        settings: Today's.
        given: An address that the caller names today, or several: they count instead, and get the key.

    Raises:
        ConfigurationError: The model cannot be asked, or LiteLLM would send the keys of the environment to a host that
            nobody names today.
    """
    from micro_agent.models.making import lm_of

    there = _each(given) or _each(base_url)
    foreign = [] if given else [url for one in there if (url := foreign_url(provider, one, settings))]
    if foreign:
        url = " --base-url ".join(foreign)
        where = f"{' and '.join(foreign)}, which the record names and today's settings do not"
        if provider == "litellm":
            told = f"LiteLLM would take keys of the environment to {where}"
            raise ConfigurationError(f"{told}: pass --base-url {url} to allow that")
        keyless = f"; it is sent no key (with --base-url {url} it is)" if settings.openai_api_key else ""
        to_stderr(f"asking {model} at {where}{keyless if provider == 'openai' else ''}")
    first = there[0] if there else None
    asked = Target(provider_named(provider), model, first, recorded=not given, others=tuple(there[1:]))
    return lm_of(choose(asked, settings, fallback=False, announce=to_stderr), settings)


def _each(addresses: str | Sequence[str] | None) -> list[str]:
    return [addresses] if isinstance(addresses, str) else list(addresses or ())


def model_of(run: Run, settings: Settings, *, base_url: str | None = None) -> Any:
    """The `dspy.LM` that a run began with, so that it goes on with the same model on the same server.

    ``base_url`` is another address that is named today. Without it the record's server is sent no key, and is
    announced, unless ``settings`` name it too.

    Raises:
        ConfigurationError: The run's provider is not one that `configure_lm` makes, or it cannot be used.
    """
    if run.provider not in PROVIDERS or run.model is None:
        raise ConfigurationError(f"run {run.id} used the model {run.model}: resume it in Python, with that model")
    name = run.model if run.provider == "litellm" else run.model.partition("/")[2]
    return recorded_lm(run.provider, name, run.base_url, settings, given=base_url)
