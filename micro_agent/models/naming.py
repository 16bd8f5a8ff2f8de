"""A model by its name, such as ``ollama_chat/llama3.2:3b``, as DSPy takes it."""

from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.announcing import to_stderr
from micro_agent.models.fallback import choose
from micro_agent.models.making import lm_of
from micro_agent.models.settings import PROVIDERS, Provider, Settings, keep_offline
from micro_agent.models.target import Target, provider_named

_OLLAMA = ("ollama_chat", "ollama")
_ALONE = ("tiny", "mock")
"""Providers of one model, which need not be named."""


def provider_and_model(provider: str | None, model: str | None) -> tuple[Provider | None, str | None]:
    """Both, where the model's name may begin with its provider's, as in ``ollama_chat/llama3.2:3b``.

    A provider that is named beside it has models of any name; ``ollama_chat/`` begins none of Ollama's.

    Raises:
        ConfigurationError: There is no such provider.
    """
    named = provider_named(provider) if provider else None
    first, slash, rest = (model or "").strip().partition("/")
    known = "ollama" if first in _OLLAMA else first.lower()
    if named is None and known in PROVIDERS and (slash or known in _ALONE):
        return provider_named(known), rest or None
    if named == "ollama" and slash and first == _OLLAMA[0]:
        return named, rest
    return named, model or None


def lm_named(name: str, settings: Settings) -> Any:
    """The model of ``provider/model``.

    ``ollama_chat/…``, ``ollama/…``, ``openai/…``, ``litellm/…``, ``tiny`` and ``mock`` are asked as `configure_lm` asks
    them, with the addresses, keys and sampling of ``settings``; no other provider is used instead. A model of any other
    provider is DSPy's own, which takes its key from the environment.

    Raises:
        ConfigurationError: It names no provider, or one that cannot be used, because of a missing key for instance.
    """
    provider, _, model = name.strip().partition("/")
    known = "ollama" if provider in _OLLAMA else provider.lower()
    if known in PROVIDERS:
        asked = Target(provider_named(known), model or None)
        return lm_of(choose(asked, settings, fallback=False, announce=to_stderr), settings)
    if not provider or not model:
        wanted = f'"ollama_chat/{provider or "llama3.2:3b"}" or "openai/{provider or "gpt-4o-mini"}"'
        raise ConfigurationError(f"lm is {name!r}, which names no provider: pass a name such as {wanted}")
    import dspy

    keep_offline()
    return dspy.LM(name.strip())
