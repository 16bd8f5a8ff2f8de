"""What the model's server says without being asked to think: that it is there, its models, its context."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from micro_agent.doctor.check import Check, fail, ok, skip, warn
from micro_agent.models.addresses import is_public_openai
from micro_agent.models.fallback import choose
from micro_agent.models.keys import redirecting_file
from micro_agent.models.lookup import LookupFailed, look_up
from micro_agent.models.settings import Settings
from micro_agent.models.target import Target, UnusableError

_NO_SERVER: dict[str | None, str] = {
    "mock": "it is offline rules", "tiny": "it computes in this process", "litellm": "LiteLLM decides where it goes",
}  # fmt: skip
"""Providers without a server to ask, and why."""


def served(asked: Target, settings: Settings, *, timeout_s: float) -> Iterator[Check | Target]:
    """The checks of provider and model; then the target, if it can be asked: the one that a question would go to."""
    try:
        target = choose(asked, settings, fallback=settings.llm_fallback, announce=lambda _: None)
    except UnusableError as error:
        absent = " has no model" in error.reason
        if absent:
            yield ok("provider", f"Ollama answers at {asked.base_url or settings.ollama_host}")
        yield fail("model" if absent else "provider", error.reason, error.remedy)
        return
    for passed in target.fallback_from:
        name, reason = passed["provider"], passed["reason"]
        advice = f"`LLM_FALLBACK=0 micro-agent doctor --provider {name}` says what to do"
        yield warn("provider", f"{name} is not used: {reason}", advice)
    if target.provider == "mock" and target.fallback_from:
        advice = "start Ollama (`ollama serve`), or set OPENAI_API_KEY, or choose with --provider"
        yield fail("provider", "no model can be asked: only the mock is left, which is not a model", advice)
    elif target.provider == "openai":
        if settings.openai_api_key and not target.api_key:
            told = f"OPENAI_API_KEY is not sent to {target.base_url}, which {redirecting_file(settings)} names"
            yield warn("provider", told, f"put the key into the same file, or pass --base-url {target.base_url}")
        yield from _openai(target, timeout_s)
    elif target.provider == "ollama":
        yield ok("provider", f"Ollama answers at {target.base_url}", base_url=target.base_url)
        yield ok("model", f"{target.model} is there", model=target.model)
        yield target
    else:
        yield skip("provider", f"{target.provider}: {_NO_SERVER[target.provider]}")
        yield skip("model", f"{target.model}: not looked up")
        yield target


def _openai(target: Target, timeout_s: float) -> Iterator[Check | Target]:
    headers = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else {}
    try:
        listed = look_up(f"{target.base_url}/models", headers=headers, timeout_s=timeout_s)
    except LookupFailed as error:
        if error.status is None:
            advice = "start the server, or set OPENAI_BASE_URL to where it is"
            yield fail("provider", f"nothing answers at {target.base_url}: {error}", advice)
            return
        if error.status in (401, 403):
            advice = "check OPENAI_API_KEY; it must be one of this server"
            yield fail("provider", f"{target.base_url} refuses the key (HTTP {error.status})", advice)
            return
        told = f"{target.base_url} answers, but lists no models ({error})"
        yield warn("provider", told, "check the base URL: most servers want one that ends in /v1")
        yield skip("model", f"{target.model}: the server does not say which models it has")
        yield target
        return
    yield ok("provider", f"{target.base_url} answers", base_url=target.base_url)
    found = listed_model(target, _names(listed))
    yield from [found] if found.state == "fail" else [found, target]


def listed_model(target: Target, names: Sequence[str]) -> Check:
    """Whether the model is among those that the server lists. Only OpenAI itself is known to have no others."""
    if target.model in names:
        return ok("model", f"{target.model} is there", model=target.model)
    if is_public_openai(str(target.base_url)):
        return fail("model", f"there is no model {target.model!r} for this key", "set OPENAI_MODEL to one that it has")
    known = ", ".join(names[:5]) or "none"  # llama.cpp answers whatever name it is called by
    told = f"the server does not list {target.model!r} (it lists {known})"
    return warn("model", told, "set OPENAI_MODEL to one of those, unless the server takes any name")


def _names(listed: Any) -> list[str]:
    data = cast("dict[str, Any]", listed).get("data") if isinstance(listed, dict) else None
    entries = cast("list[Any]", data) if isinstance(data, list) else []
    found = [cast("dict[str, Any]", entry).get("id") for entry in entries if isinstance(entry, dict)]
    return [name for name in found if isinstance(name, str)]


def ollama_context(target: Target, settings: Settings, *, timeout_s: float) -> Check:
    """The context that is asked for, and what the model has, by ``/api/show`` (Ollama, ``docs/api.md``)."""
    asked = settings.ollama_num_ctx
    try:
        told = look_up(f"{target.base_url}/api/show", body={"model": target.model}, timeout_s=timeout_s)
    except LookupFailed as error:
        return warn("context", f"num_ctx {asked}; the model's own is not known ({error})", "nothing need be done",
                    num_ctx=asked, context_length=None)  # fmt: skip
    known = _context_length(told)
    figures = {"num_ctx": asked, "context_length": known}
    if known is None:
        return warn("context", f"num_ctx {asked}; the model does not say its own", "nothing need be done", **figures)
    if asked > known:
        return warn("context", f"num_ctx {asked}, but the model was trained on {known}",
                    f"set OLLAMA_NUM_CTX to {known} or less", **figures)  # fmt: skip
    if asked < LITTLE_CONTEXT:
        return warn("context", f"num_ctx {asked} of {known}: a few steps fill it",
                    f"set OLLAMA_NUM_CTX to {min(known, 8192)}, if the memory allows", **figures)  # fmt: skip
    return ok("context", f"num_ctx {asked} of the model's {known}", **figures)


LITTLE_CONTEXT = 4096
"""Tokens. Instructions, tools and a reply take a thousand or two of them."""


def _context_length(told: Any) -> int | None:
    info = cast("dict[str, Any]", told).get("model_info") if isinstance(told, dict) else None
    known = cast("dict[str, Any]", info) if isinstance(info, dict) else {}
    lengths = [value for key, value in known.items() if key.endswith(".context_length") and isinstance(value, int)]
    return lengths[0] if lengths else None
