"""Decoding: a model's reply becomes a decision, whatever defects it came with. Nothing here raises."""

from collections.abc import Sequence

from micro_agent.decoding.clean import clean
from micro_agent.decoding.decision import (
    Decision,
    DecodeError,
    Final,
    ModelReply,
    RawCall,
    Repair,
    Standing,
    ToolCall,
    ToolCalls,
    ToolSpec,
)
from micro_agent.decoding.fitting import fitted
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.submitted import as_asked, with_outputs

__all__ = [
    "Decision",
    "DecodeError",
    "Final",
    "ModelReply",
    "RawCall",
    "Repair",
    "Standing",
    "ToolCall",
    "ToolCalls",
    "ToolSpec",
    "decode",
    "decode_text",
]


def decode(
    reply: ModelReply, tools: Sequence[ToolSpec] | None, *, native: bool = False, coerce: bool = True,
    submit: ToolSpec | None = None,
) -> Decision:  # fmt: skip
    """Read a reply: its native calls if it has any, else the decision in its text.

    Args:
        reply: What the model said.
        tools: The tools that it may call. ``None`` when they are not known: any name counts and arguments are not
            checked. When empty, nothing can be a call.
        native: Whether they stand on the wire as such: an error then asks for a call there, else for a JSON object.
        coerce: Whether arguments that do not fit their schema are brought to it where one reading is possible, with a
            repair for each. The loop does without: `micro_agent.tools.prepare` does it there, and says so in the step.
        submit: The tool whose arguments are the outputs of an answer that has a schema. Outputs in the text are a call
            of it; prose is an error.

    Returns:
        Calls, a final answer, or an error.
    """
    known = tools if submit is None or tools is None else [*tools, submit]
    offer = Offer(known, native=native, submit=submit)
    decision = as_asked(reply, offer) or with_outputs(clean(reply, offer) or _read(reply, offer), reply, offer)
    return fitted(decision, offer) if coerce else decision


def _read(reply: ModelReply, offer: Offer) -> Decision:
    if reply.calls:
        from micro_agent.decoding.native import read_calls

        return read_calls(reply, offer)
    from micro_agent.decoding.settle import all_or_none
    from micro_agent.decoding.text import read_text

    thought_only = bool(reply.reasoning) and not reply.text.strip()  # in a field of its own; said as of one in the text
    text = "<think>" if thought_only else reply.text
    return all_or_none(read_text(text, reply.finish_reason, offer), offer)


def decode_text(text: str, tools: Sequence[ToolSpec] | None) -> Decision:
    """Read text alone, as `decode` reads that of a reply which ended by itself."""
    return decode(ModelReply(text=text), tools)
