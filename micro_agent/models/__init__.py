"""Models: settings, the choice of a provider, one engine a provider, prices, errors and retries.

Importing this package imports no DSPy; `configure_lm` does.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from micro_agent.models.announcing import Announce, to_stderr
from micro_agent.models.fallback import choose
from micro_agent.models.making import lm_of
from micro_agent.models.settings import Settings, load_settings
from micro_agent.models.target import Target, provider_named

if TYPE_CHECKING:
    import dspy

__all__ = ["Settings", "configure_lm", "load_settings"]


def configure_lm(
    provider: str | None = None,
    model: str | None = None,
    base_url: str | Sequence[str] | None = None,
    api_key: str | None = None,
    *,
    settings: Settings | None = None,
    fallback: bool | None = None,
    announce: Announce | None = None,
    **lm_kwargs: Any,
) -> "dspy.LM":
    """A ``dspy.LM`` for the provider that is named, and for no other; with none named the first usable one of three.

    A provider is named by ``provider`` or ``LLM_PROVIDER``; by ``base_url`` or ``OPENAI_BASE_URL`` (OpenAI's wire); by
    ``OLLAMA_HOST`` or ``OLLAMA_MODEL``; by ``LITELLM_MODEL``. A key names nothing, and ``model`` alone is one of
    Ollama. With nothing named it is Ollama, else OpenAI if there is a key, else the mock, and each step is announced.

    Nothing is configured globally and nothing is cached or retried by the LM itself. It carries ``provider_name`` and
    ``fallback_from``, a list of ``{"provider", "reason"}`` of those that were passed over. Its engine has
    ``default_mode``, the mode that ``auto`` stands for. For Ollama the server is asked for its models at once; no other
    server is asked anything, unless there are several: those are asked which model they have.

    Args:
        provider: ``openai``, ``ollama``, ``litellm``, ``tiny`` or ``mock``; by default ``LLM_PROVIDER``.
        model: Its model. Like ``base_url`` and ``api_key`` it counts for the named provider, never for a fall-back.
        base_url: Its address. Several are servers with the same model: a run is asked at the least loaded one and stays
            there, and one that fails is left out for a while (``openai`` and ``ollama``).
        api_key: Its key, where it takes one (``openai``, ``litellm``). By default ``OPENAI_API_KEY``, which goes to
            ``base_url`` or to the server of the settings.
        settings: By default those of the environment.
        fallback: Whether another provider may be used; by default ``LLM_FALLBACK``, and without that only where none is
            named.
        announce: Takes each line for a person: a fall-back, a model that was picked, the mock. By default stderr.
        **lm_kwargs: Sampling settings and other arguments of ``dspy.LM``; they win over ``settings``.

    Raises:
        ConfigurationError: No such provider, two that are named, or one that cannot be used while no other may be
            (`UnusableError`), or servers that do not have the same model; one line says what to do.
    """
    settings = settings or load_settings()
    several = () if base_url is None or isinstance(base_url, str) else tuple(base_url)
    first = base_url if isinstance(base_url, str) else next(iter(several), None)
    asked = Target(
        provider_named(provider) if provider else None, model or None, first or None, api_key or None,
        others=several[1:],
    )  # fmt: skip
    allowed = settings.llm_fallback if fallback is None else fallback
    announce = announce or to_stderr
    return lm_of(choose(asked, settings, fallback=allowed, announce=announce), settings, lm_kwargs, announce=announce)
