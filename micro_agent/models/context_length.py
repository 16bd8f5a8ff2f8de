"""How long the context of a model is: what its server says, a table knows, or a refusal has told. Unknown is ``None``.

A server is asked once an engine, and only where that costs nothing; OpenAI's own never is. What it says beside the
length is kept as well: that its chat template has no tools, and which program it is.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePath
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from micro_agent.models.addresses import is_public_openai
from micro_agent.models.identity import Served, Told, provider_of, traits_of
from micro_agent.models.lookup import LookupFailed, look_up
from micro_agent.models.prices import listed_context
from micro_agent.models.refusals import context_limit
from micro_agent.models.settings import Settings

PATIENCE_S = 1.5
"""Seconds that a server has to answer each question; one that gives no answer to the first is not asked the others."""

Read = Callable[[Any, str], Told]


def context_length_of(lm: Any, settings: Settings) -> int | None:
    """Tokens that the context of ``lm`` has for prompt and reply together; ``None`` when nobody says.

    ``CONTEXT_LENGTH`` counts before what a server says, and a refusal that named the limit before both. With Ollama the
    length is sent with each request (``OLLAMA_NUM_CTX``), and the model's own if that is shorter.
    """
    traits, told = traits_of(lm), told_by(lm)
    own = getattr(traits, "num_ctx", None)
    if own is None:
        return _least(settings.context_length or told.length, traits.context_limit)
    return _least(own, settings.context_length, told.length, traits.context_limit)


def told_by(lm: Any) -> Told:
    """What the server of ``lm`` says, which is asked if it was not yet. A template without tools refuses tools."""
    traits = traits_of(lm)
    if traits.told is None:
        traits.told = _asked(lm, traits)
        traits.refuses_tools = traits.refuses_tools or traits.told.template_has_tools is False
        if traits.told.software == "llama.cpp":
            traits.schema_in_prompt = False
            traits.schemas = "classes" if traits.schemas == "verbatim" else traits.schemas
    return traits.told


async def asked_beforehand(lm: Any) -> None:
    """Let `told_by` ask now, in a thread, if it has to: a server must not hold up the event loop."""
    traits = traits_of(lm)
    if hasattr(traits, "endpoint") and traits.told is None:
        await asyncio.to_thread(told_by, lm)


def longer_context(lm: Any) -> str:
    """How to give the model of ``lm`` a longer context."""
    traits = traits_of(lm)
    if hasattr(traits, "num_ctx"):
        return "set OLLAMA_NUM_CTX to more tokens, shorten the question or offer fewer tools"
    if traits.told is not None and traits.told.software == "llama.cpp":
        return "start llama.cpp's server with a larger -c, shorten the question or offer fewer tools"
    return "give the model a longer context where its server is set up, shorten the question or offer fewer tools"


def learned_length(lm: Any, error: BaseException) -> int | None:
    """The limit that a refusal names, remembered for the model's later runs; ``None`` if it names none."""
    body = getattr(error, "body", None)
    limit = context_limit(body if isinstance(body, str) else str(error))
    if limit is not None:
        traits = traits_of(lm)
        traits.context_limit = _least(limit, traits.context_limit)
    return limit


def told_at(engine: Any) -> Told:
    """What the server of an engine of ours says, asked now."""
    if hasattr(engine, "num_ctx"):
        return _ollama(engine.base_url, engine.model)
    if is_public_openai(engine.base_url):
        return Told(listed_context(f"{engine.provider}/{engine.model}"))
    return _openai(engine.base_url, engine.model, engine.endpoint.headers)


def _asked(lm: Any, engine: Any) -> Told:
    if hasattr(engine, "agreed"):  # it stands for several servers
        return engine.agreed()
    if hasattr(engine, "num_ctx"):
        return told_at(engine)
    base_url = getattr(engine, "base_url", None) or lm.kwargs.get("api_base") or lm.kwargs.get("base_url")
    if base_url is None or is_public_openai(base_url):
        return Told(listed_context(lm.model))
    ours = provider_of(lm) == "openai" and hasattr(engine, "endpoint")
    return told_at(engine) if ours else Told()


def _ollama(base_url: str, model: str) -> Told:
    """What the model was trained with, and whether it takes images (``docs/api.md``, ``/api/show``).

    Ollama lowers a longer ``num_ctx`` to the length. Versions before 0.6.4 list no ``capabilities``.
    """
    try:
        told = look_up(f"{base_url}/api/show", timeout_s=PATIENCE_S, body={"model": model})
    except LookupFailed as failed:
        missing = Served("no model of that name") if failed.status == 404 else Served()
        return Told(served=missing, silent=str(failed) if failed.status is None else None)
    info, can = _object(_object(told).get("model_info")), _object(told).get("capabilities")
    length = next((_count(value) for key, value in info.items() if key.endswith(".context_length")), None)
    kept, template = _object(_object(told).get("details")), _object(told).get("template")
    served = Served(model, length, _together(kept, ("parameter_size", "quantization_level")), _digest(template))
    vision = "vision" in cast(list[Any], can) if isinstance(can, list) and can else None
    return Told(length, vision=vision, served=served)


def _openai(base_url: str, model: str, headers: Mapping[str, str]) -> Told:
    """What the lists of models and llama.cpp's ``/props`` say together."""
    parts = urlsplit(base_url)
    root = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/v1"), "", ""))
    questions: list[tuple[str, Read]] = [
        (f"{base_url}/models", _of_listing), (f"{root}/props", _of_props), (f"{root}/api/v0/models", _of_listing)
    ]  # fmt: skip
    told = Told()
    for url, read in questions:
        if told.length is not None and (read is not _of_props or told.software is None):
            continue
        try:
            found = read(look_up(url, timeout_s=PATIENCE_S, headers=headers), model)
        except LookupFailed as failed:
            if failed.status is None:
                told = told if told.served.name else replace(told, silent=str(failed))
                break
            continue
        known, new = told.served, found.served
        told = Told(
            told.length or found.length, told.software or found.software,
            _first(told.template_has_tools, found.template_has_tools), _first(told.vision, found.vision),
            Served(known.name or new.name, None, known.weights or new.weights, known.template or new.template),
        )  # fmt: skip
    return replace(told, served=replace(told.served, length=told.length))


def _of_listing(told: Any, model: str) -> Told:
    """The length in the model's entry of a list, and who serves it.

    ``max_model_len`` is of vLLM and SGLang, ``meta.n_ctx`` of llama.cpp, ``loaded_context_length`` of LM Studio,
    ``context_length`` of OpenRouter and Together, ``context_window`` of Groq. What a model could have if it were loaded
    otherwise (``max_context_length``, ``n_ctx_train``) says nothing.
    """
    listed = _object(told).get("data")
    entries = [_object(entry) for entry in cast(list[Any], listed)] if isinstance(listed, list) else []
    entry = next((one for one in entries if one.get("id") == model), entries[0] if len(entries) == 1 else {})
    names = ("max_model_len", "loaded_context_length", "context_length", "context_window")
    found = [_count(entry.get(name)) for name in names] + [_count(_object(entry.get("meta")).get("n_ctx"))]
    length = next((length for length in found if length is not None), None)
    listed_names = [PurePath(str(one.get("id"))).name.removesuffix(".gguf") for one in ([entry] if entry else entries)]
    weights = _together(_object(entry.get("meta")), ("n_params", "size"))
    software = "llama.cpp" if entry.get("owned_by") == "llamacpp" else None
    return Told(length, software, served=Served(", ".join(listed_names[:5]) or None, None, weights))


def _of_props(told: Any, model: str) -> Told:
    """llama.cpp: the context of one slot, and what its chat template and model take (``tools/server/README.md``)."""
    props = _object(told)
    tools = _object(props.get("chat_template_caps")).get("supports_tools")
    vision = _object(props.get("modalities")).get("vision")
    settings = _object(props.get("default_generation_settings"))
    software = "llama.cpp" if settings else None
    served = Served(template=_digest(props.get("chat_template")))
    return Told(_count(settings.get("n_ctx")), software, _bool(tools), _bool(vision), served)


def _together(told: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return ", ".join(f"{name} {told[name]}" for name in names if told.get(name)) or None


def _digest(text: Any) -> str | None:
    return sha256(text.encode(errors="replace")).hexdigest() if isinstance(text, str) and text else None


def _object(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _first(known: bool | None, found: bool | None) -> bool | None:
    return found if known is None else known


def _least(*lengths: int | None) -> int | None:
    return min((length for length in lengths if length is not None), default=None)
