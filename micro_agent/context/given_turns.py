"""Messages that came before the first run of a conversation, as turns."""

from collections.abc import Iterable, Mapping
from typing import Any

from micro_agent.run import LMCall, Run, Step


def given_turns(messages: Iterable[Mapping[str, Any]]) -> list[Run]:
    """The turns that messages in the form of `Run.history` tell of: a run for each question, in their order."""
    turns = list[Run]()
    for message in messages:
        if message["role"] == "user":
            turns.append(Run(question=message["content"], status="stopped"))
        elif message["role"] == "assistant":
            _replied(turns[-1], message)
        else:
            _observed(turns[-1], message)
    return turns


def _replied(turn: Run, message: Mapping[str, Any]) -> None:
    text, calls = message["content"], message.get("tool_calls", ())
    asked = [{"name": one["name"], "args": one["args"], "call_id": one["id"]} for one in calls]
    reply = {"text": text, "tool_calls": list(asked)}
    turn.calls.append(LMCall(reply=reply, decision={"tool_calls": asked} if asked else {"final": text}))
    turn.status, turn.answer = "completed", None if asked else text


def _observed(turn: Run, message: Mapping[str, Any]) -> None:
    call = len(turn.calls) - 1
    made = next(one for one in turn.calls[call].reply["tool_calls"] if one["call_id"] == message["tool_call_id"])
    turn.steps.append(
        Step(tool=made["name"], args=made["args"], observation=message["content"], call=call, call_id=made["call_id"])
    )
