"""The doctor: is everything there that a run needs, and what to do where it is not.

It asks the server what it has, makes three tiny model calls and writes one small file into each folder. Nothing of it
is recorded as a run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from micro_agent.doctor.check import Check, fail, ok, skip, warn
from micro_agent.doctor.folders import folder
from micro_agent.doctor.server import ollama_context, served
from micro_agent.errors import ConfigurationError
from micro_agent.models.settings import Settings
from micro_agent.models.target import Target

__all__ = ["Check", "examine"]

_PROBED = ("tools", "schema", "speed")


def examine(asked: Target, settings: Settings, *, mode: str = "auto", tools: Sequence[str] | None = None,
            traces_dir: Path | None = None, timeout_s: float = 30.0) -> Iterator[Check]:  # fmt: skip
    """Every check, each as soon as it is made: provider, model, context, tools, schema, speed, price, toolset, folders.

    Of several servers the first is looked at, and whether the others have the same model.

    Args:
        asked: The provider, and the model, address and key if others than those of ``settings`` are meant. What is
            looked at is what a question would go to: no other than the named one, unless ``LLM_FALLBACK`` allows it.
        settings: Those that a run would have.
        mode: The mode that is wanted: what native mode lacks matters little to a run in JSON mode.
        tools: The names of the tools that a run would have; ``None`` leaves the toolset out.
        traces_dir: Where runs would be written; by default as ``settings`` say.
        timeout_s: Seconds for each question to the server.
    """
    target = None
    seen: list[str] = []
    for found in served(asked, settings, timeout_s=timeout_s):
        if isinstance(found, Target):
            target = found
        else:
            seen.append(found.name)
            yield found
    yield from _of_model(target, settings, mode, timeout_s) if target else _unseen(seen)
    if tools is not None:
        unforced = "; the required-tools rule is off" if settings.micro_agent_no_required_tools else ""
        yield ok("toolset", f"{', '.join(tools) or 'empty'}{unforced}", tools=list(tools))
    yield folder("traces", traces_dir or settings.traces_dir, "TRACES_DIR")
    yield folder("state", settings.micro_agent_state_dir, "MICRO_AGENT_STATE_DIR")


def _unseen(seen: list[str]) -> Iterator[Check]:
    for name in ("model", "context", *_PROBED, "price"):
        if name in seen:
            continue
        yield skip(name, "not looked at, as the model cannot be asked")


def _of_model(target: Target, settings: Settings, mode: str, timeout_s: float) -> Iterator[Check]:
    from micro_agent.models.identity import mode_of
    from micro_agent.models.making import lm_of

    lm = lm_of(replace(target, others=()), settings)
    if target.others:
        yield _alike(target, settings)
    if target.provider == "ollama":
        yield ollama_context(target, settings, timeout_s=timeout_s)
    elif target.provider != "mock":
        yield _context(lm, settings)
    if target.provider == "mock":
        yield from (skip(name, "the mock is not a model") for name in ("context", *_PROBED))
    else:
        from micro_agent.doctor.probing import probes

        yield from probes(lm, mode=mode_of(lm, mode), timeout_s=timeout_s)  # pyright: ignore[reportArgumentType]
    yield _price(lm, target, settings)


def _alike(target: Target, settings: Settings) -> Check:
    from micro_agent.models.making import lm_of

    said: list[str] = []
    try:
        lm_of(target, settings, announce=said.append)
    except ConfigurationError as error:
        return fail("servers", str(error), "start them alike: the same model, context and chat template")
    if said:
        return warn("servers", "; ".join(said), "start what does not answer, or leave it out")
    return ok(
        "servers", f"the same model, as far as they say, at {' and '.join((target.base_url or '', *target.others))}"
    )


def _context(lm: Any, settings: Settings) -> Check:
    from micro_agent.models.context_length import context_length_of

    known = context_length_of(lm, settings)
    if known is None:
        advice = "set CONTEXT_LENGTH to what the server was started with, so that no request exceeds it"
        return warn("context", "the server does not say how long it is", advice, context_length=None)
    return ok("context", f"{known} tokens", context_length=known)


def _price(lm: Any, target: Target, settings: Settings) -> Check:
    from micro_agent.models.prices import price_of

    found = price_of(lm, settings)
    if found is not None:
        per_million = [rate * 1e6 for rate in (found.input_per_token, found.output_per_token)]
        told = f"${per_million[0]:g} a million tokens in, ${per_million[1]:g} out"
        return ok("price", told, input_per_token=found.input_per_token, output_per_token=found.output_per_token)
    if target.provider in ("ollama", "tiny", "mock"):
        return ok("price", "none: the model runs on this machine's own power; costs are unknown, not 0")
    advice = "set OPENAI_INPUT_PRICE_PER_1K and OPENAI_OUTPUT_PRICE_PER_1K (0 for a local server)"
    return warn("price", f"not known for {target.model}: costs stay unknown, and --max-cost cannot be held", advice)
