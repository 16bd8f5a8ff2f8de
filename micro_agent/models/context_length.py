"""How long the context of a model is: what its server says, a table knows, or a refusal has told. Unknown is ``None``.

A server is asked once an engine, and only where that costs nothing; OpenAI's own never is.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from micro_agent.models.identity import provider_of, traits_of
from micro_agent.models.lookup import LookupFailed, look_up
from micro_agent.models.prices import listed_context
from micro_agent.models.refusals import context_limit
from micro_agent.models.settings import Settings, is_public_openai

PATIENCE_S = 1.5
"""Seconds that a server has to answer each question; one that gives no answer to the first is not asked the others."""

Read = Callable[[Any, str], int | None]


def context_length_of(lm: Any, settings: Settings) -> int | None:
    """Tokens that the context of ``lm`` has for prompt and reply together; ``None`` when nobody says.

    ``CONTEXT_LENGTH`` counts before what a server says, and a refusal that named the limit before both. With Ollama the
    length is sent with each request (``OLLAMA_NUM_CTX``), and the model's own if that is shorter.
    """
    traits = traits_of(lm)
    told = getattr(traits, "context_limit", None)
    own = getattr(traits, "num_ctx", None)
    said = settings.context_length if own is None else min(own, settings.context_length or own)
    if own is not None or said is None:
        if not hasattr(traits, "context_asked"):
            traits.context_asked = _asked(lm, traits)
        said = _least(said, traits.context_asked)
    return _least(said, told)


async def asked_beforehand(lm: Any, settings: Settings) -> None:
    """Let `context_length_of` ask now, in a thread, if it has to: a server must not hold up the event loop."""
    traits = traits_of(lm)
    asks = hasattr(traits, "num_ctx") or (hasattr(traits, "endpoint") and settings.context_length is None)
    if asks and not hasattr(traits, "context_asked"):
        await asyncio.to_thread(context_length_of, lm, settings)


def learned_length(lm: Any, error: BaseException) -> int | None:
    """The limit that a refusal names, remembered for the model's later runs; ``None`` if it names none."""
    body = getattr(error, "body", None)
    limit = context_limit(body if isinstance(body, str) else str(error))
    if limit is not None:
        traits = traits_of(lm)
        traits.context_limit = _least(limit, getattr(traits, "context_limit", None))
    return limit


def _asked(lm: Any, engine: Any) -> int | None:
    if hasattr(engine, "num_ctx"):
        return _ollama(engine.base_url, engine.model)
    base_url = getattr(engine, "base_url", None) or lm.kwargs.get("api_base") or lm.kwargs.get("base_url")
    if base_url is None or is_public_openai(base_url):
        return listed_context(lm.model)
    ours = provider_of(lm) == "openai" and hasattr(engine, "endpoint")
    return _openai(base_url, engine.model, engine.endpoint.headers) if ours else None


def _ollama(base_url: str, model: str) -> int | None:
    """What the model was trained with: Ollama lowers a longer ``num_ctx`` to it (``docs/api.md``, ``/api/show``)."""
    try:
        told = look_up(f"{base_url}/api/show", timeout_s=PATIENCE_S, body={"model": model})
    except LookupFailed:
        return None
    info = _object(_object(told).get("model_info"))
    return next((_count(value) for key, value in info.items() if key.endswith(".context_length")), None)


def _openai(base_url: str, model: str, headers: Mapping[str, str]) -> int | None:
    parts = urlsplit(base_url)
    root = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/v1"), "", ""))
    questions: list[tuple[str, Read]] = [
        (f"{base_url}/models", _of_listing), (f"{root}/props", _of_props), (f"{root}/api/v0/models", _of_listing)
    ]  # fmt: skip
    for url, read in questions:
        try:
            told = look_up(url, timeout_s=PATIENCE_S, headers=headers)
        except LookupFailed as failed:
            if failed.status is None:
                return None
            continue
        if (length := read(told, model)) is not None:
            return length
    return None


def _of_listing(told: Any, model: str) -> int | None:
    """The length in the model's entry of a list.

    ``max_model_len`` is of vLLM and SGLang, ``meta.n_ctx`` of llama.cpp, ``loaded_context_length`` of LM Studio,
    ``context_length`` of OpenRouter and Together, ``context_window`` of Groq. What a model could have if it were loaded
    otherwise (``max_context_length``, ``n_ctx_train``) says nothing.
    """
    listed = _object(told).get("data")
    entries = [_object(entry) for entry in cast(list[Any], listed)] if isinstance(listed, list) else []
    entry = next((one for one in entries if one.get("id") == model), entries[0] if len(entries) == 1 else {})
    names = ("max_model_len", "loaded_context_length", "context_length", "context_window")
    found = [_count(entry.get(name)) for name in names] + [_count(_object(entry.get("meta")).get("n_ctx"))]
    return next((length for length in found if length is not None), None)


def _of_props(told: Any, model: str) -> int | None:
    """llama.cpp: the context of one slot."""
    return _count(_object(_object(told).get("default_generation_settings")).get("n_ctx"))


def _object(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _least(*lengths: int | None) -> int | None:
    return min((length for length in lengths if length is not None), default=None)
