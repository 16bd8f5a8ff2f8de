# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The last requests of an agent as they were sent, and what came back: what ``agent.inspect_history`` shows."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import dspy

from micro_agent.files.masking import Mask, mask_of
from micro_agent.run import LMCall, utc_now
from micro_agent.wires import Page
from micro_agent.wires.images import digested

KEPT = 20
"""So many are kept."""


class Exchange(Mapping[str, Any]):
    """One request with its reply, in the form of an entry of DSPy's history.

    It refers to what was sent anyway. What it shows is made when somebody looks, without secrets.
    """

    def __init__(self, model: str, page: Page, call: LMCall) -> None:
        self._system, self._messages, self._reply = page.system, tuple(page.messages), call.reply
        self._plain = {"model": model, "timestamp": utc_now(), "prompt": None}
        self._shown = {"messages": self._sent, "outputs": self._came}

    def __getitem__(self, key: str) -> Any:
        return self._shown[key](mask_of()) if key in self._shown else self._plain[key]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._plain, *self._shown))

    def __len__(self) -> int:
        return len(self._plain) + len(self._shown)

    def _sent(self, mask: Mask) -> list[dict[str, Any]]:
        told = [_message(message, mask) for message in self._messages]
        return [{"role": "system", "content": mask.text(self._system)}, *told]

    def _came(self, mask: Mask) -> list[dict[str, Any]]:
        calls = [_call(call["name"], call["arguments"], mask) for call in self._reply.get("tool_calls") or ()]
        return [{"text": mask.text(self._reply.get("text") or ""), "tool_calls": calls}]


def kept(predict: Any, model: str, page: Page, call: LMCall) -> LMCall:
    """The call, after it was kept in the predictor's history, unless DSPy's ``disable_history`` is set.

    What stands for a predictor in a replay sends nothing, and keeps nothing.
    """
    if isinstance(predict, dspy.Predict) and not dspy.settings.disable_history:
        predict.history.append(Exchange(model, page, call))
        del predict.history[:-KEPT]
    return call


def _message(message: Any, mask: Mask) -> dict[str, Any]:
    calls = [_call(part.name, part.input, mask) for part in message.parts if part.type == "tool_call"]
    return {"role": message.role, "content": mask.text("\n".join(_texts(message.parts))), "tool_calls": calls}


def _texts(parts: Any) -> Iterator[str]:
    for part in parts:
        if (text := getattr(part, "text", None)) is not None:
            yield text
        elif part.type == "image":
            yield f"[{' '.join(filter(None, digested(part)))}]"
        yield from _texts(getattr(part, "content", ()))


def _call(name: str, arguments: Any, mask: Mask) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return {"name": mask.text(name), "arguments": mask.text(text)}
