# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Run by test_litellm.py, in a process of its own because LiteLLM takes seconds to import and warns as it does.

Usage: ``python play_litellm.py OPENAI_URL``; prints one JSON object of what was seen.
"""

import asyncio
import gc
import json
import os
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any

import dspy
from dspy.lm15 import Message, Request, ToolCallPart

from micro_agent.models import configure_lm
from micro_agent.models.identity import mode_of
from micro_agent.models.litellm import LiteLLMEngine
from micro_agent.models.scope import CallScope, calling


def failure(action: Callable[[], Any]) -> str:
    """The class of the exception that ``action`` raises, and its status."""
    try:
        return f"returned {action()!r}"
    except dspy.LMError as error:
        return f"{type(error).__name__} {error.status}"


def play(url: str) -> dict[str, Any]:
    """All of it, in the order of the server's script."""
    lm = configure_lm("litellm", "openai/gpt-4o-mini", url, "the-key", seed=3)
    asked = Request(model=lm.model, messages=(Message.user("hi"),))
    before = "litellm" in sys.modules and "completion" in vars(sys.modules["litellm"])
    engine = LiteLLMEngine(model=lm.model, base_url=url, api_key="k")
    said: list[str] = []

    async def stream() -> list[str]:
        return [event.type async for event in engine.twin().stream(asked)]

    def shown() -> str:
        with calling(CallScope(on_text=said.append)):
            return lm(asked).message.text or ""

    def ask() -> Any:
        return lm(asked)

    def too_late() -> Any:
        with calling(CallScope(deadline=monotonic())):
            return lm(asked)

    return {
        "before": before,
        "text": lm("hi"),
        "async": asyncio.run(lm.acall("hi")),
        "shown": [shown(), said],
        "call": [[part.name, part.input] for part in lm(asked).message.parts if isinstance(part, ToolCallPart)],
        "stream": [event.type for event in engine.stream(asked)],
        "astream": asyncio.run(stream()),
        "too late": failure(too_late),
        "401": failure(ask),
        "429": failure(ask),
        "known": engine.default_mode,
        "unknown": LiteLLMEngine(model="openai/some-local-model").default_mode,
        "named": [mode_of(dspy.LM(name, api_key="k")) for name in ("mistral/mistral-large-latest", "nobody/knows")],
        "mode": os.environ["LITELLM_MODE"],
    }


if __name__ == "__main__":
    gc.disable()  # LiteLLM makes thousands of classes, and none of them is garbage
    sys.stdout.write(json.dumps(play(sys.argv[1])))
