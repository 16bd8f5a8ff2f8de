"""Which provider answers: the named one and no other; with none named the first usable one of three. No DSPy here."""

from dataclasses import replace

from micro_agent.errors import ConfigurationError
from micro_agent.models.announcing import Announce
from micro_agent.models.settings import Provider, Settings, variable_of
from micro_agent.models.target import Target, UnusableError
from micro_agent.models.usable import usable

ORDER: tuple[Provider, ...] = ("ollama", "openai", "mock")
"""Who is tried where nobody is named, and behind the named one where another may be used. The mock always answers."""

_NAMING: dict[str, Provider] = {
    "ollama_host": "ollama", "ollama_model": "ollama", "openai_base_url": "openai", "litellm_model": "litellm",
}  # fmt: skip
"""Settings that name their provider. ``OPENAI_API_KEY`` and ``OPENAI_MODEL`` do not: other programs read them too."""


def named(asked: Target, settings: Settings) -> Provider | None:
    """The provider that the caller or the settings name; ``None`` when nothing does.

    The first of these counts: a provider (the caller's, then ``LLM_PROVIDER``), the caller's address, which is OpenAI's
    wire, an address or a model in the settings. A model alone is one of Ollama, so that its name goes nowhere else.

    Raises:
        ConfigurationError: The settings name two.
    """
    if asked.provider or settings.llm_provider:
        return asked.provider or settings.llm_provider
    if asked.base_url and asked.base_url.strip():
        return "openai"
    naming: dict[str, Provider] = {
        name: provider for name, provider in _NAMING.items() if name in settings.model_fields_set
    }
    providers = list(dict.fromkeys(naming.values()))
    if len(providers) > 1:
        told = " and ".join(f"{variable_of(name)} names {provider}" for name, provider in naming.items())
        raise ConfigurationError(f"{told}: say which with --provider or LLM_PROVIDER")
    if providers:
        return providers[0]
    return "ollama" if asked.model else None


def choose(asked: Target, settings: Settings, *, fallback: bool | None, announce: Announce) -> Target:
    """The target to use. What ``asked`` says of model, address and key counts for the provider it names.

    Args:
        asked: What the caller says; ``provider`` is ``None`` where nothing was said of it.
        settings: What fills the rest.
        fallback: Whether another provider may be used; ``None``: only where none is named. Each one that is passed over
            is announced in a line.
        announce: Takes one line for a person.

    Raises:
        UnusableError: The provider cannot be used, and no other may be.
        ConfigurationError: An address in ``asked`` is not one, or the settings name two providers.
    """
    first = named(asked, settings)
    alone = fallback is False or (first is not None and fallback is None)
    order: list[Provider] = [first or ORDER[0]] if alone else list(dict.fromkeys((first, *ORDER) if first else ORDER))
    passed: list[dict[str, str]] = []
    while True:
        provider = order.pop(0)
        theirs = asked if provider == first else Target(api_key=asked.api_key if first is None else None)
        try:
            found = usable(provider, theirs, settings, announce)
        except UnusableError as error:
            if not order and (asked.provider or settings.llm_provider):
                raise
            if not order:  # nobody chose it in so many words
                raise UnusableError(
                    error.reason, f"{error.remedy}, or name another provider with --provider"
                ) from error
            passed.append({"provider": provider, "reason": error.reason})
            announce(f"{provider} is not used: {error.reason}; trying {order[0]} instead")
        else:
            if passed and found.base_url:
                announce(f"asking {found.model} at {found.base_url}")
            return replace(found, fallback_from=tuple(passed))
