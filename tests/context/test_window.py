# pyright: reportUnknownMemberType=false
"""What a run shows its model follows from the run: whoever takes it up in the middle shows the same."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent import Limits, MicroAgent, Run, tool
from micro_agent.context import Window
from micro_agent.demos import instructions
from micro_agent.models.settings import Settings
from micro_agent.run import CONTEXT_TRIMMED, Mode
from micro_agent.testing import Received, Reply, ScriptedLM, calls, decision, error, final, text
from micro_agent.testing.truncation import prompt_tokens
from micro_agent.tools import Tool, toolset
from micro_agent.wires import JsonWire, NativeWire, Page

LETTERS = "A sentence of plain words, 42 digits and {signs}. Größe. 人人生而自由。 "


def writer() -> Tool:
    @tool(max_chars=10**6)
    def write(size: int) -> str:
        """Write so many characters."""
        return (LETTERS * (size // len(LETTERS) + 1))[:size]

    return write


def asked(mode: Mode, turns: Sequence[Sequence[int]]) -> list[Reply]:
    if mode == "json":
        return [*(decision("write", {"size": sum(sizes)}) for sizes in turns), final("Done.")]
    return [*(calls(*[("write", {"size": size}) for size in sizes]) for sizes in turns), text("Done.")]


def shown_again(run: Run, mode: Mode, tools: list[Tool]) -> str:
    """The digest of the last request, rendered at once from the run as it stood before it."""
    wire = NativeWire() if mode == "native" else JsonWire()
    page, window = Page(wire, tools, wire.response_format(tools)), Window()
    page.open(instructions(), [])
    before = run.model_copy(update={"calls": run.calls[:-1]})
    assert window.fit(before, page) is None
    return page.chain.sent()["sha256"]


TURNS = st.lists(st.lists(st.integers(0, 9000), min_size=1, max_size=3), max_size=14)


@settings(max_examples=12)
@given(TURNS, st.integers(300, 9000), st.sampled_from(["native", "json"]), st.sampled_from([0.3, 1.0, 1.7, 2.5]))
def test_every_request_leaves_room_and_can_be_shown_again(
    turns: list[list[int]], length: int, mode: Mode, rate: float
) -> None:
    replies, refused = iter(asked(mode, turns)), list[int]()

    def model(request: Received) -> Reply:
        """On a server that counts so many times what the double does, and refuses what is too long for it."""
        tokens = int(rate * prompt_tokens(request.messages, (request.body or {}).get("tools")))
        if tokens + 1 > length:
            refused.append(len(lm.requests))
            return error(400, f"the request exceeds the available context size ({length} tokens)")
        return next(replies).with_(usage=(tokens, 5))

    lm, tools = ScriptedLM(model, mode=mode), list(toolset([writer()]).values())
    limits = Limits(max_steps=44)
    agent = MicroAgent(tools, lm, mode, [], limits, demos=[], settings=Settings(context_length=length))
    run = agent.ask("Write.")
    assert len(lm.requests) == len(run.calls) + len(refused)
    if rate <= 1:
        assert refused in ([], [1]), "only a question that is too long by itself is refused"
    trims = [step.args for step in run.steps if step.tool == CONTEXT_TRIMMED]
    assert all(trim["tokens_after"] < trim["tokens_before"] for trim in trims)
    for earlier, later in pairwise(trims):  # nothing is shown at greater length again
        kept = {one["step"]: one["chars"] for one in later["cut"]}
        assert all(kept[one["step"]] <= one["chars"] for one in earlier["cut"] if one["step"] >= later["from"])
    if run.termination_reason == "context_overflow":
        assert run.error is not None
        words = "the available context size" if refused else f"more than the context of {length}"
        assert words in run.error["message"]
    else:
        assert (run.status, run.answer) == ("completed", "Done.")
        assert shown_again(run, mode, tools) == run.calls[-1].request["sha256"]


def test_a_run_of_few_steps_is_not_trimmed() -> None:
    """Results are shown whole as long as they fit, and those of most runs do."""
    lm = ScriptedLM(asked("native", [[2000]] * 5))
    run = MicroAgent([writer()], lm, rules=[], settings=Settings(context_length=8192)).ask("Write.")
    assert (run.status, [step.tool for step in run.steps]) == ("completed", ["write"] * 5)
    shown = [message["content"] for message in lm.messages(-1) if message["role"] == "tool"]
    assert shown == [step.observation for step in run.steps]


def test_small_results_leave_their_share_to_large_ones() -> None:
    lm = ScriptedLM(asked("native", [[10], [10], [10], [10], [1300]]))
    agent = MicroAgent([writer()], lm, rules=[], settings=Settings(context_length=3000))
    run = agent.ask("Write.")
    assert lm.messages(-1)[-1]["content"] == run.steps[-1].observation


def test_the_question_may_be_empty() -> None:
    lm = ScriptedLM(asked("native", [[9000]] * 12))
    agent = MicroAgent([writer()], lm, rules=[], limits=Limits(max_steps=20), settings=Settings(context_length=2000))
    run = asyncio.run(agent.aask(""))
    assert run.status == "completed"
    assert any(step.tool == CONTEXT_TRIMMED for step in run.steps)
