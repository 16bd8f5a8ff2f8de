"""What the model itself shows in three tiny calls: native tools, constrained decoding, speed."""

import json
from collections.abc import Iterator
from typing import Any

from micro_agent.decoding import ToolCalls, decode
from micro_agent.doctor.check import Check, fail, ok, skip, warn
from micro_agent.models.identity import provider_of, traits_of
from micro_agent.models.probes import SCHEMA, TOOL, WORD, Probe, constrained, native_tools, speed

SLOW_TOKENS_PER_S = 5.0
"""A decision of 60 tokens takes more than ten seconds below this."""


def probes(lm: Any, *, mode: str, timeout_s: float) -> Iterator[Check]:
    """The three checks. After a call that fails for another reason than a refusal, the rest is skipped."""
    for name, ask, read in (
        ("tools", native_tools, _tools),
        ("schema", constrained, _schema),
        ("speed", speed, _speed),
    ):
        if name != "speed" and provider_of(lm) == "tiny":
            yield skip(name, "not tried: the tiny model knows questions of its own kinds alone")
            continue
        if name == "tools" and traits_of(lm).refuses_tools:
            yield _left_out(mode)
            continue
        probe = ask(lm, timeout_s=timeout_s)
        if probe.failure is not None and not probe.refused:
            yield fail(name, probe.failure.message, _advice(probe), code=probe.failure.code)
            for left in ("tools", "schema", "speed")[("tools", "schema", "speed").index(name) + 1 :]:
                yield skip(left, f"not tried, as the call for {name} failed")
            return
        yield read(probe, mode)


def _advice(probe: Probe) -> str:
    assert probe.failure is not None, "only a failed call is advised on"
    if probe.failure.code == "TIMEOUT":
        return "allow more with --timeout, take a smaller model, or see whether the server is busy loading it"
    return "the message says what to do; `micro-agent ask` would fail in the same way"


def _left_out(mode: str) -> Check:
    """The server has said so itself, and would answer a call with tools as if there were none."""
    told = "the model's chat template has no tools: the server would leave them out of the prompt and say nothing"
    if mode == "native":
        return warn("tools", told, "use --mode json (auto does it by itself), or a template with tools", native=False)
    return ok("tools", f"{told}; JSON decisions need none", native=False)


def _tools(probe: Probe, mode: str) -> Check:
    if probe.refused:
        told = "the server takes no native tools with this model"
        if mode == "native":
            return warn("tools", told, "use --mode json (auto does it by itself)", native=False)
        return ok("tools", f"{told}; JSON decisions need none", native=False)
    assert probe.reply is not None, "a call that was not refused and did not fail has a reply"
    decision = decode(probe.reply, [TOOL])
    called = isinstance(decision, ToolCalls) and decision.calls[0].name == TOOL.name
    right = isinstance(decision, ToolCalls) and decision.calls[0].args == {"word": WORD}
    took = f"{probe.seconds:.1f} s"
    if probe.reply.calls and right:
        return ok("tools", f"called natively, with the right argument, in {took}", native=True)
    if probe.reply.calls and called:
        told = "called natively, but with other arguments than asked for"
        return warn("tools", told, "expect repairs and second tries, or take a larger model", native=True)
    if called:
        told = f"the call came in the text of the reply, in {took}; it was read"
        return warn(
            "tools", told, "use --mode json, or the chat template that the model was trained with", native=False
        )
    said = probe.reply.text or "nothing"
    told = f"no call came; the model said {_shown(said)}"
    return warn("tools", told, "use --mode json, or a model that is trained to call tools", native=False)


def _schema(probe: Probe, mode: str) -> Check:
    if probe.refused:
        told = "the server does not constrain decoding; JSON decisions are asked for in words"
        return (ok if mode == "native" else _unheld)("schema", told, constrained=False)
    assert probe.reply is not None, "a call that was not refused and did not fail has a reply"
    try:
        held = json.loads(probe.reply.text) == {"word": WORD}
    except ValueError:
        held = False
    if held:
        return ok("schema", f"decoding is held to a JSON schema, in {probe.seconds:.1f} s", constrained=True)
    told = f"the server took a JSON schema ({', '.join(SCHEMA['required'])}) and did not hold the reply to it"
    return (ok if mode == "native" else _unheld)("schema", told, constrained=False)


def _unheld(name: str, told: str, **data: Any) -> Check:
    return warn(name, told, "nothing need be done: replies are repaired; a server that constrains is steadier", **data)


def _speed(probe: Probe, mode: str) -> Check:
    assert probe.reply is not None, "a plain question cannot be refused as a feature"
    if probe.tokens_per_s is None:
        told = f"a reply in {probe.seconds:.1f} s; the server does not report tokens, so their speed is unknown"
        return warn("speed", told, "limits on tokens and cost cannot be held here: use --max-time", tokens_per_s=None)
    told = f"{probe.tokens_per_s:.0f} tokens/s"
    figures = {"tokens_per_s": round(probe.tokens_per_s, 1), "seconds": round(probe.seconds, 3)}
    if probe.tokens_per_s < SLOW_TOKENS_PER_S:
        advice = "take a smaller or more quantised model, or one that fits into the memory of the GPU"
        return warn("speed", told, advice, **figures)
    return ok("speed", told, **figures)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else f"{line[:59]}…")
