"""Which provider answers: the one asked for, or the first usable one of Ollama, OpenAI and the mock. No DSPy here."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pydantic import BaseModel

from micro_agent.errors import ConfigurationError
from micro_agent.models.lookup import LookupFailed, look_up
from micro_agent.models.settings import PROVIDERS, Provider, Settings, http_url, is_public_openai, ollama_url, shown

PROBE_S = 0.3
"""Seconds that Ollama has to answer when something else could be used instead."""
PATIENT_PROBE_S = 5.0
"""Seconds that Ollama has to answer when nothing else may be used."""

Announce = Callable[[str], None]


class UnusableError(ConfigurationError):
    """A provider cannot be used. ``reason`` says why in few words, the message says what to do as well."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}: {remedy}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Target:
    """A provider with what is known of its model and address; once chosen, ``model`` is set."""

    provider: Provider
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    fallback_from: tuple[dict[str, str], ...] = ()


def provider_named(name: str) -> Provider:
    """``name`` as a provider, whatever its case.

    Raises:
        ConfigurationError: There is no such provider.
    """
    for provider in PROVIDERS:
        if provider == name.strip().lower():
            return provider
    raise ConfigurationError(f"there is no provider {name!r}: use one of {', '.join(PROVIDERS)}")


def choose(
    asked: Target, settings: Settings, *, fallback: bool, announce: Announce, probe_s: float = PROBE_S
) -> Target:
    """The target to use. Model, address and key in ``asked`` count for the provider asked for alone.

    Args:
        asked: What the caller named.
        settings: What fills the rest.
        fallback: Whether another provider may be used. Each one that is passed over is announced in a line.
        announce: Takes one line for a person.
        probe_s: Seconds that Ollama has to answer when another provider may be used.

    Raises:
        UnusableError: The provider cannot be used, and ``fallback`` is false.
        ConfigurationError: An address in ``asked`` is none.
    """
    if not fallback:
        return _USABLE[asked.provider](asked, settings, PATIENT_PROBE_S, announce)
    order: list[Provider] = list(dict.fromkeys((asked.provider, *_FALLBACKS)))
    order = order[: order.index("mock") + 1]
    passed: list[dict[str, str]] = []
    for provider, following in pairwise(order):
        target = asked if provider == asked.provider else Target(provider)
        try:
            found = _USABLE[provider](target, settings, probe_s, announce)
        except UnusableError as error:
            passed.append({"provider": provider, "reason": error.reason})
            announce(f"{provider} is not used: {error.reason}; trying {following} instead")
        else:
            return replace(found, fallback_from=tuple(passed))
    return replace(_mock(Target("mock"), settings, probe_s, announce), fallback_from=tuple(passed))


def _openai(asked: Target, settings: Settings, patience_s: float, announce: Announce) -> Target:
    """Usable with a key, or at any address but the public one: a compatible local server needs no key."""
    base_url = _address(asked.base_url, http_url) or settings.openai_base_url
    key = asked.api_key or (settings.openai_api_key.get_secret_value() if settings.openai_api_key else None)
    if not key and is_public_openai(base_url):
        raise UnusableError(
            "OPENAI_API_KEY is not set",
            "set it, or OPENAI_BASE_URL for a compatible server, or use --provider ollama or --provider mock",
        )
    return Target("openai", asked.model or settings.openai_model, base_url, key)


def _ollama(asked: Target, settings: Settings, patience_s: float, announce: Announce) -> Target:
    base_url = _address(asked.base_url, ollama_url) or settings.ollama_host
    names = ollama_models(base_url, timeout_s=patience_s)
    wanted = asked.model or settings.ollama_model
    if wanted is None:
        announce(f"OLLAMA_MODEL is not set: using {names[0]}, the first model that {base_url} lists")
        return Target("ollama", names[0], base_url)
    if wanted not in names and f"{wanted}:latest" not in names:
        raise UnusableError(
            f"Ollama at {base_url} has no model {wanted!r}",
            f"run `ollama pull {wanted}`, or use one of {', '.join(names[:10])}",
        )
    return Target("ollama", wanted, base_url)


def _litellm(asked: Target, settings: Settings, patience_s: float, announce: Announce) -> Target:
    model = asked.model or settings.litellm_model
    if model is None:
        raise UnusableError(
            "LITELLM_MODEL is not set", "set it to a provider/model that LiteLLM knows, or pass --model"
        )
    return Target("litellm", model, _address(asked.base_url, http_url), asked.api_key)


def _mock(asked: Target, settings: Settings, patience_s: float, announce: Announce) -> Target:
    announce("the mock provider is no model: it follows rules and knows arithmetic and the time only")
    return Target("mock", "rules")


_USABLE = {"openai": _openai, "ollama": _ollama, "litellm": _litellm, "mock": _mock}
_FALLBACKS: tuple[Provider, ...] = ("ollama", "openai", "mock")


def _address(text: str | None, read: Callable[[str], str]) -> str | None:
    try:
        return read(text.strip()) if text and text.strip() else None
    except ValueError as error:
        raise ConfigurationError(f"the base URL is {shown(text)}: {error}") from error


class _Details(BaseModel):
    family: str | None = None


class _Model(BaseModel):
    name: str
    details: _Details | None = None


class _Tags(BaseModel):
    models: list[_Model] | None = None


def ollama_models(base_url: str, *, timeout_s: float) -> list[str]:
    """The names of the models that the Ollama server at ``base_url`` has, in its order, at least one.

    Models that only embed text (of a BERT family, or named so) come last.

    Raises:
        UnusableError: Nothing answers ``/api/tags`` within ``timeout_s`` seconds, it is no Ollama, or it has no model.
    """
    try:
        models = _Tags.model_validate(look_up(f"{base_url}/api/tags", timeout_s=timeout_s)).models or []
    except LookupFailed as error:
        if error.status == 200:
            raise _no_ollama(base_url) from error
        raise UnusableError(
            f"no Ollama answers at {base_url} ({error})",
            "start it with `ollama serve`, or set OLLAMA_HOST to where it runs",
        ) from error
    except ValueError as error:
        raise _no_ollama(base_url) from error
    if not models:
        raise UnusableError(f"Ollama at {base_url} has no model", "get one, for example with `ollama pull llama3.2:3b`")
    return [model.name for model in sorted(models, key=_embeds_only)]


def _embeds_only(model: _Model) -> bool:
    family = model.details.family if model.details else None
    return "embed" in model.name or "bert" in (family or "")


def _no_ollama(base_url: str) -> UnusableError:
    return UnusableError(f"what answers at {base_url} is no Ollama", "set OLLAMA_HOST to where Ollama runs")
