"""What the tests of dialects see of a decision."""

from collections.abc import Callable, Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, decode
from micro_agent.tools import Tool

ARGS, MORE = '{"expression": "1+1"}', '{"pattern": "x"}'
PARTS = {
    "$CALL": f'{{"name": "calculator", "arguments": {ARGS}}}',
    "$OTHER": f'{{"name": "search_code", "arguments": {MORE}}}',
    "$ARGS": ARGS,
    "$MORE": MORE,
}


def _filled(text: str) -> str:
    for sign, part in PARTS.items():
        text = text.replace(sign, part)
    return text


@pytest.fixture(scope="session")
def read(tools: Sequence[Tool]) -> Callable[..., object]:
    """``read(text, finish=None, tools=…)``: the calls as ``[(name, args)]``, an answer as ``(text,)``, or a reason.

    In the text ``$CALL`` and ``$OTHER`` stand for a call as JSON, ``$ARGS`` and ``$MORE`` for their arguments.
    """
    offered = tools

    def outcome(text: str, finish: str | None = None, tools: Sequence[Tool] | None = offered) -> object:
        decision = decode(ModelReply(text=_filled(text), finish_reason=finish), tools)
        if isinstance(decision, Final):
            return (decision.answer,)
        if isinstance(decision, DecodeError):
            return decision.reason
        return [(call.name, call.args) for call in decision.calls]

    return outcome
