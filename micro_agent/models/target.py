"""Who is asked: a provider, its model, address and key, and the error of one that cannot be used. No DSPy here."""

from dataclasses import dataclass, field

from micro_agent.errors import ConfigurationError
from micro_agent.models.settings import PROVIDERS, Provider


class UnusableError(ConfigurationError):
    """A provider cannot be used. ``reason`` says why in few words, ``remedy`` what to do, the message both."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}: {remedy}")
        self.reason, self.remedy = reason, remedy


@dataclass(frozen=True, slots=True)
class Target:
    """A provider with what is known of its model and address; once chosen, ``provider`` and ``model`` are set."""

    provider: Provider | None = None
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    fallback_from: tuple[dict[str, str], ...] = ()
    recorded: bool = False
    """Whether the address is of a record, which names no server for a key."""
    others: tuple[str, ...] = ()
    """Further addresses, where the same model is as well."""


def provider_named(name: str) -> Provider:
    """``name`` as a provider, whatever its case.

    Raises:
        ConfigurationError: There is no such provider.
    """
    for provider in PROVIDERS:
        if provider == name.strip().lower():
            return provider
    raise ConfigurationError(f"there is no provider {name!r}: use one of {', '.join(PROVIDERS)}")
