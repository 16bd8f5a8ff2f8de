# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false
"""A DSPy program of two agents with different signatures: compiled, optimized, saved, streamed, replayed, resumed."""

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from dspy.streaming import StreamListener, StreamResponse
from pydantic import BaseModel

from micro_agent import MicroAgent, configure_lm, tool
from micro_agent.program.prediction import prediction
from micro_agent.replay import describe, fork, verify
from micro_agent.run import Mode, Run
from micro_agent.streaming import AnswerText
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, decision, final, text
from micro_agent.traces import TraceStore


class Order(BaseModel):
    item: str
    count: int


class ReadOrder(dspy.Signature):
    """Read the order out of a mail."""

    mail: str = dspy.InputField()
    order: Order = dspy.OutputField()


class Decide(dspy.Signature):
    """Decide whether an order can be sent."""

    order: Order = dspy.InputField()
    stock: int = dspy.InputField(desc="how many there are")
    verdict: Literal["send", "wait"] = dspy.OutputField()
    reason: str = dspy.OutputField()


@tool(read_only=True)
def in_stock(item: str) -> int:
    """How many there are of an item."""
    return 7


class Shop(dspy.Module):
    """Reads an order, then decides."""

    def __init__(self, lm: Any, mode: Mode = "native") -> None:
        super().__init__()
        self.reader = MicroAgent(ReadOrder, tools=[], lm=lm, mode=mode, rules=[])
        self.decider = MicroAgent(Decide, tools=[in_stock], lm=lm, mode=mode, rules=[])

    def forward(self, mail: str) -> dspy.Prediction:
        order = self.reader(mail=mail).order
        return self.decider(order=order, stock=7)


def plays(request: Received) -> Reply:
    """A model that reads the number in a mail, looks into the stock, and sends what there is; it proposes GEPA's texts.

    On Ollama's wire it answers in JSON mode.
    """
    native = "tools" in (request.body or {})
    said = [str(message["content"]) for message in request.messages]
    asked = next((one for one in reversed(said) if one.startswith(("Mail: ", "order: "))), None)
    if asked is None:
        return text("```\nRead with care, and look into the stock before you decide.\n```")
    after = said[said.index(asked) + 1 :]

    def gives(**outputs: Any) -> Reply:
        return call("submit", outputs) if native else final(outputs)

    if asked.startswith("Mail: "):
        return gives(order={"item": "pear", "count": asked.split()[1]})
    if not any("7" in one for one in after):
        return (call if native else decision)("in_stock", {"item": "pear"})
    count = json.loads(asked.splitlines()[0].removeprefix("order: "))["count"]
    return gives(verdict="SEND" if count <= 7 else "wait", reason=f"{count} of 7")


TRAIN = [
    dspy.Example(mail=f"Mail: {count} pears, please.", verdict="send" if count < 9 else "wait").with_inputs("mail")
    for count in (3, 5, 9, 8)
]
"""Of the last one the model thinks otherwise."""


def right(gold: Any, prediction: Any, trace: Any = None, *_: Any) -> Any:
    good = gold.verdict == prediction.verdict
    return dspy.Prediction(score=float(good), feedback="right" if good else "wrong") if _ else good


@contextmanager
def model(provider: str = "openai") -> Generator[tuple[Any, ModelServer]]:
    with ModelServer(plays) as server:
        url = server.openai_url if provider == "openai" else server.url
        yield configure_lm(provider, "scripted", url, "none"), server


@pytest.mark.parametrize(("provider", "mode"), [("openai", "native"), ("ollama", "json")])
def test_bootstrap_compiles_both_and_their_demos_are_shown(provider: str, mode: Mode, tmp_path: Path) -> None:
    with model(provider) as (lm, server), dspy.context(lm=lm):
        optimizer = dspy.BootstrapFewShot(metric=right, max_bootstrapped_demos=2, max_labeled_demos=0)
        program = optimizer.compile(Shop(lm, mode), trainset=TRAIN)
        names = [name for name, _ in program.named_predictors()]
        assert names == ["reader.plan", "decider.plan"]
        program.save(tmp_path / "shop.json")
        fresh = Shop(lm, mode)
        fresh.load(tmp_path / "shop.json")
        before = len(server.chats)
        prediction = fresh(mail="Mail: 2 pears, please.")
        shown = json.dumps(server.chats[before].messages)
    assert (prediction.verdict, prediction.reason) == ("send", "2 of 7")
    assert "Mail: 3 pears" in shown
    assert ("final" if mode == "json" else "submit") in shown


def test_gepa_rewrites_the_instructions_of_both() -> None:
    with model() as (lm, _), dspy.context(lm=lm):
        reflection: Any = configure_lm("openai", "scripted", lm.engine.base_url, "none")
        optimizer = dspy.GEPA(
            metric=right, reflection_lm=reflection, max_metric_calls=30, reflection_minibatch_size=2, seed=0
        )
        program = optimizer.compile(Shop(lm), trainset=TRAIN, valset=TRAIN)
        assert program(mail="Mail: 2 pears, please.").verdict == "send"
        score = dspy.Evaluate(devset=TRAIN, metric=right, num_threads=2, display_progress=False)(program).score
    assert score == 75.0
    assert len(program.named_predictors()) == 2


def test_a_saved_program_keeps_its_signatures(tmp_path: Path) -> None:
    with model() as (lm, _):
        agent = MicroAgent(ReadOrder, tools=[], lm=lm, rules=[])
        agent.save(tmp_path / "agent", save_program=True)
        loaded: Any = dspy.load(str(tmp_path / "agent"), allow_pickle=True)
        assert loaded(mail="Mail: 4 pears.").order.count == 4
        assert asyncio.run(loaded.acall(mail="Mail: 5 pears.")).order.count == 5


def test_outputs_are_not_streamed_as_text() -> None:
    with model() as (lm, _):
        agent = MicroAgent(Decide, tools=[in_stock], lm=lm, rules=[])
        events = list(agent.stream(order=Order(item="pear", count=2), stock=7))
    assert [event.text for event in events if isinstance(event, AnswerText)] == ["2 of 7"], "the answer, at the end"


@pytest.mark.parametrize(("provider", "mode"), [("openai", "native"), ("ollama", "json")])
def test_a_recorded_run_is_verified_and_forked(provider: str, mode: Mode, tmp_path: Path) -> None:
    with model(provider) as (lm, _):
        agent = MicroAgent(Decide, tools=[in_stock], lm=lm, mode=mode, rules=[], traces=tmp_path)
        run = agent.ask(order=Order(item="pear", count=2), stock=7)
        recorded = TraceStore(tmp_path).load(run.id)
        assert recorded.outputs == run.outputs == {"verdict": "send", "reason": "2 of 7"}
        assert recorded.inputs == {"order": {"item": "pear", "count": 2}, "stock": 7}
        for verifier in (agent, MicroAgent(Decide, tools=[in_stock], rules=[], lm=lm, mode=mode)):
            assert [found.divergence for found in verify([recorded], verifier)] == [None]
        assert fork(recorded, 1, agent).outputs == run.outputs


def test_a_run_of_another_signature_is_judged_by_its_schema_on_record(tmp_path: Path) -> None:
    with model() as (lm, _):
        run = MicroAgent(Decide, tools=[in_stock], lm=lm, rules=[], traces=tmp_path).ask(
            order=Order(item="pear", count=2), stock=7
        )
        plain = MicroAgent(tools=[in_stock], lm=lm, mode="native", rules=[], system=run.system)
        [found] = verify([TraceStore(tmp_path).load(run.id)], plain)
    assert found.divergence is not None
    assert found.divergence.kind == "request", "the instructions and the tools are others; the replies read the same"
    assert found.later is None


def test_a_plain_run_is_judged_as_one_by_an_agent_with_a_signature(tmp_path: Path) -> None:
    lm = ScriptedLM([text("It is 4.")])
    run = MicroAgent(tools=[in_stock], lm=lm, rules=[], traces=tmp_path).ask("2 + 2?")
    [found] = verify([TraceStore(tmp_path).load(run.id)], MicroAgent(Decide, tools=[in_stock], lm=lm, rules=[]))
    assert found.divergence is not None
    assert (found.divergence.kind, found.later) == ("request", None)


def test_outputs_are_not_streamed_to_listeners_as_text() -> None:
    class Answer(dspy.Signature):
        question: str = dspy.InputField()
        answer: str = dspy.OutputField()
        sure: bool = dspy.OutputField()

    script = [text("I will submit it."), call("submit", {"answer": "Rome it is.", "sure": True})]
    with ModelServer(script) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, "none")
        agent = MicroAgent(Answer, tools=[], lm=lm, rules=[])
        listener = StreamListener("answer", agent.plan, "plan")
        streamed: Any = dspy.streamify(agent, stream_listeners=[listener], async_streaming=False)
        said = [one for one in streamed(question="Capital?") if isinstance(one, StreamResponse)]
    assert "".join(one.chunk for one in said) == "Rome it is."


def test_a_run_that_was_killed_goes_on_with_its_signature(tmp_path: Path) -> None:
    with model() as (lm, _):
        agent = MicroAgent(Decide, tools=[in_stock], lm=lm, rules=[], traces=tmp_path)
        begun = agent.ask(order=Order(item="pear", count=2), stock=7).model_copy(
            update={"status": "running", "outputs": None, "answer": None, "termination_reason": None}, deep=True
        )
        begun.calls, begun.steps = begun.calls[:1], begun.steps[:1]
        unwritten = MicroAgent(Decide, tools=[in_stock], lm=lm, rules=[])
        assert unwritten.resume(begun).outputs == {"verdict": "send", "reason": "2 of 7"}


def test_a_run_keeps_its_outputs_in_a_file(tmp_path: Path) -> None:
    with model() as (lm, _):
        run = MicroAgent(Decide, tools=[in_stock], lm=lm, rules=[]).ask(order=Order(item="pear", count=2), stock=7)
    assert Run.load(run.save(tmp_path / "run.json")).outputs == run.outputs
    assert run.answer == "2 of 7"
    shown = list(describe(run))
    assert "Answer: 2 of 7" in shown
    assert 'Outputs: {"verdict": "send", "reason": "2 of 7"}' in shown
    assert any("enum_spelling" in line for line in shown)


def test_a_run_from_before_there_were_outputs_is_a_prediction() -> None:
    agent = MicroAgent(tools=[], lm="mock")
    old = Run.model_validate({"question": "2 + 2?", "answer": "4", "status": "completed"})
    assert prediction(old, agent.signature).answer == "4"
