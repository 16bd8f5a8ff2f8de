"""An answer inside the object of a call or after it, before anything is known."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json

TOO_EARLY = ("I will know it soon.", "The tool will tell.", "Here is the answer.")


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The call with an answer beside it that says nothing."""
    if len(said.calls) != 1:
        return None
    (call,) = said.calls
    answer = {"final": {"answer": rng.choice(TOO_EARLY)}}
    if rng.random() < 0.5:
        return said.written(as_json({**said.form(call.name, call.arguments), **answer}))
    return said.written(f"{said.text}\n{as_json(answer)}")
