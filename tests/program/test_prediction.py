# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""A run as a prediction: one that failed is wrong, and whoever evaluates goes on."""

from itertools import count
from typing import Any

import dspy
import pytest
from dspy.evaluate import SemanticF1, answer_exact_match

from micro_agent import MicroAgent, configure_lm
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, error, text
from micro_agent.tools import Tool

DEVSET = [dspy.Example(question=f"Say {n}.", answer=f"It is {n}.").with_inputs("question") for n in range(9)]


def third_call_fails(status: int) -> Any:
    """A server that answers every third request with an error."""
    calls = count(1)

    def play(request: Received) -> Reply:
        if next(calls) % 3 == 0:
            return error(status, "no", retry_after=0)
        said = str(request.messages[-1]["content"])
        return text(f"It is {said.removeprefix('Say ')}")

    return play


@pytest.mark.parametrize(("status", "score", "threads"), [(400, 66.67, 1), (400, 66.67, 3), (500, 100.0, 1)])
def test_evaluate_counts_what_failed_as_wrong_and_goes_on(status: int, score: float, threads: int) -> None:
    with ModelServer(third_call_fails(status)) as server:
        lm = configure_lm("openai", model="m", base_url=server.openai_url)
        agent = MicroAgent(tools=[], lm=lm, rules=[])
        evaluate = dspy.Evaluate(
            devset=DEVSET, metric=answer_exact_match, num_threads=threads, max_errors=1, display_progress=False
        )
        result = evaluate(agent)
    assert result.score == score
    failed = [prediction for _, prediction, _ in result.results if prediction.status != "completed"]
    assert len(failed) == (3 if status == 400 else 0)
    assert {(one.answer, one.status, one.error["code"]) for one in failed} <= {("", "failed", "BAD_REQUEST")}


def test_a_metric_that_asks_a_model_takes_it() -> None:
    agent = MicroAgent(tools=[], lm=ScriptedLM([error(400, "no")]), rules=[])
    judge = dspy.utils.DummyLM([{"reasoning": "nothing is there", "precision": "0.0", "recall": "0.0"}])
    with dspy.context(lm=judge):
        example = dspy.Example(question="Say 1.", response="It is 1.").with_inputs("question")
        prediction = agent(question="Say 1.")
        assert SemanticF1()(example, dspy.Prediction(response=prediction.answer)).score == 0.0


def test_a_paused_run_has_no_answer_and_says_so() -> None:
    schema = {"type": "object", "properties": {}}
    mail = Tool("mail", "", schema, lambda: "sent", requires_confirmation=True)
    prediction = MicroAgent(tools=[mail], lm=ScriptedLM([call("mail", {})]), rules=[])(question="Send it.")
    assert (prediction.answer, prediction.status, prediction.error) == ("", "confirmation_required", None)
    assert prediction.run.answer is None
    assert not answer_exact_match(dspy.Example(answer="It is sent."), prediction)
