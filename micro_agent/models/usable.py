"""Whether a provider can be used, and with which model, address and key: one function a provider. No DSPy here."""

from collections.abc import Callable
from contextlib import suppress

from micro_agent.errors import ConfigurationError
from micro_agent.extras import how_to_install, is_installed
from micro_agent.models.addresses import http_url, is_public_openai, ollama_url, shown
from micro_agent.models.announcing import Announce
from micro_agent.models.keys import openai_key
from micro_agent.models.ollama_models import ollama_models
from micro_agent.models.settings import Provider, Settings
from micro_agent.models.target import Target, UnusableError

TINY = "errands-1m"
"""The model that ships, by its name."""
PATIENCE_S = 5.0
"""Seconds that Ollama has to list its models. Where nothing listens, the system says so at once."""


def usable(provider: Provider, asked: Target, settings: Settings, announce: Announce) -> Target:
    """The target to use: what ``asked`` says, and ``settings`` where it says nothing.

    Raises:
        UnusableError: The provider cannot be used.
        ConfigurationError: An address in ``asked`` is not one, or stands there twice, or there are several and the
            provider takes one.
    """
    if asked.others and provider not in ("openai", "ollama"):
        raise ConfigurationError(f"{provider} takes one base URL; several go with openai and ollama")
    return _USABLE[provider](asked, settings, announce)


def _openai(asked: Target, settings: Settings, announce: Announce) -> Target:
    """Usable with a key, or at any address but the public one: a compatible local server needs no key."""
    addresses = _addresses(asked, http_url)
    base_url, *others = addresses or (settings.openai_base_url,)
    given = bool(addresses) and not asked.recorded
    keys = [openai_key(url, settings, announce, given=given) for url in (base_url, *others)]
    key = asked.api_key or (keys[0] if all(keys) else None)
    if not key and is_public_openai(base_url):
        if settings.openai_api_key:
            raise UnusableError(
                f"OPENAI_API_KEY is for {settings.openai_base_url}, not for {base_url}",
                f"pass --base-url {base_url} if it is for that",
            )
        raise UnusableError(
            "OPENAI_API_KEY is not set",
            "set it, or OPENAI_BASE_URL for a compatible server, or use --provider ollama or --provider mock",
        )
    return Target("openai", asked.model or settings.openai_model, base_url, key, others=tuple(others))


def _ollama(asked: Target, settings: Settings, announce: Announce) -> Target:
    addresses = _addresses(asked, ollama_url) or (settings.ollama_host,)
    there, names = _listed(addresses)
    wanted = asked.model or settings.ollama_model
    if wanted is None:
        announce(f"OLLAMA_MODEL is not set: using {names[0]}, the first model that {there} lists")
        return Target("ollama", names[0], addresses[0], others=addresses[1:])
    if wanted not in names and f"{wanted}:latest" not in names:
        raise UnusableError(
            f"Ollama at {there} has no model {wanted!r}",
            f"run `ollama pull {wanted}`, or use one of {', '.join(names[:10])}",
        )
    return Target("ollama", wanted, addresses[0], others=addresses[1:])


def _listed(addresses: tuple[str, ...]) -> tuple[str, list[str]]:
    """The first server that answers, and its models; raises the error of the last if none does."""
    for url in addresses[:-1]:
        with suppress(UnusableError):
            return url, ollama_models(url, timeout_s=PATIENCE_S)
    return addresses[-1], ollama_models(addresses[-1], timeout_s=PATIENCE_S)


def _litellm(asked: Target, settings: Settings, announce: Announce) -> Target:
    model = asked.model or settings.litellm_model
    if model is None:
        raise UnusableError(
            "LITELLM_MODEL is not set", "set it to a provider/model that LiteLLM knows, or pass --model"
        )
    return Target("litellm", model, _address(asked.base_url, http_url), asked.api_key)


def _tiny(asked: Target, settings: Settings, announce: Announce) -> Target:
    if not is_installed("numpy"):
        raise UnusableError("numpy is not installed", how_to_install("tiny"))
    if asked.model not in (None, TINY):
        raise UnusableError(f"the tiny provider has no model {asked.model!r}", f"leave --model out, or name {TINY}")
    announce(f"{TINY} is a real but tiny model: it knows a few kinds of questions, and often errs")
    return Target("tiny", TINY)


def _mock(asked: Target, settings: Settings, announce: Announce) -> Target:
    announce("the mock provider is not a model: it follows rules and knows arithmetic and the time only")
    return Target("mock", "rules")


_USABLE: dict[Provider, Callable[[Target, Settings, Announce], Target]] = {
    "openai": _openai, "ollama": _ollama, "litellm": _litellm, "tiny": _tiny, "mock": _mock,
}  # fmt: skip


def _addresses(asked: Target, read: Callable[[str], str]) -> tuple[str, ...]:
    found = [url for text in (asked.base_url, *asked.others) if (url := _address(text, read)) is not None]
    if twice := [url for url in found if found.count(url) > 1]:
        raise ConfigurationError(f"the base URL {twice[0]} is named twice: leave one of them out")
    return tuple(found)


def _address(text: str | None, read: Callable[[str], str]) -> str | None:
    try:
        return read(text.strip()) if text and text.strip() else None
    except ValueError as error:
        raise ConfigurationError(f"the base URL is {shown(text)}: {error}") from error
