# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Agents with signatures of their own: fifty of them in both modes, and what is done with what a model gives."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import dspy
import pytest
from pydantic import BaseModel, field_validator

from micro_agent import MicroAgent, configure_lm, tool
from micro_agent.errors import ConfigurationError
from micro_agent.rules import BeforeFinish, Event, Verdict, Violation
from micro_agent.run import MALFORMED_DECISION, VALIDATION_ERROR, Run
from micro_agent.testing import ModelServer, Reply, call, calls, decision, final, text
from micro_agent.tools.inlined import inlined
from tests.finishing.signatures import CASES, Case

MODES = ("native", "json")
LONG = pytest.mark.torture
BOTH_OF_SOME = [
    pytest.param(case, mode, id=f"{case.id}-{mode}", marks=[LONG] * (mode == "json" and number % 5 > 0))
    for number, case in enumerate(CASES)
    for mode in MODES
]
"""All in native mode, a fifth of them in JSON mode as well; the others take long."""
SURE = "document, question -> answer: str, confidence: float"


@tool(read_only=True)
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: known"


@contextmanager
def agent(signature: Any, mode: str, script: list[Reply], **options: Any) -> Generator[tuple[MicroAgent, ModelServer]]:
    """An agent of this signature on a scripted server: OpenAI's wire in native mode, Ollama's in JSON mode."""
    with ModelServer(script) as server:
        provider, url = ("openai", server.openai_url) if mode == "native" else ("ollama", server.url)
        lm = configure_lm(provider, "scripted", url, "none")
        held: dict[str, Any] = {"rules": [], "finish": "call", **options}
        yield MicroAgent(signature, tools=[look_up], lm=lm, **held), server


def gives(mode: str, outputs: Any) -> Reply:
    return call("submit", outputs) if mode == "native" else final(outputs)


def looks_up(mode: str) -> Reply:
    return (call if mode == "native" else decision)("look_up", {"word": "x"})


def values(prediction: dspy.Prediction, case: Case) -> dict[str, Any]:
    return {name: prediction[name] for name in case.values}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_outputs_come_with_their_types_and_their_schema_reaches_both_wires(case: Case, mode: str) -> None:
    with agent(case.signature, mode, [looks_up(mode), gives(mode, case.clean)]) as (asked, server):
        prediction = asked(**case.inputs)
        assert values(prediction, case) == case.values
        assert len(server.chats) == 2
        body = server.chats[0].body or {}
    assert prediction.run.finished_by == ("submit" if mode == "native" else "final")
    assert json.loads(json.dumps(prediction.run.outputs)) == prediction.run.outputs
    schema = inlined(prediction.run.wanted["submit"]["parameters"])
    if mode == "native":
        sent = body["tools"][-1]["function"]
        assert (sent["name"], sent["parameters"]) == ("submit", schema)
    else:
        final = body["format"]["anyOf"][-1]["properties"]["final"]
        assert final == schema or "$ref" in json.dumps(schema)


@pytest.mark.parametrize(("case", "mode"), BOTH_OF_SOME)
def test_outputs_of_other_types_are_coerced_or_asked_for_again(case: Case, mode: str) -> None:
    with agent(case.signature, mode, [gives(mode, case.coercible), gives(mode, case.clean)]) as (asked, server):
        prediction = asked(**case.inputs)
        assert values(prediction, case) == case.values
        if len(server.chats) == 2:
            assert case.id in ("print_order", "applicants"), "a lone number for a list of numbers"


@pytest.mark.parametrize(("case", "mode"), BOTH_OF_SOME)
def test_all_faults_are_told_at_once(case: Case, mode: str) -> None:
    with agent(case.signature, mode, [gives(mode, case.wrong), gives(mode, case.clean)]) as (asked, _):
        prediction = asked(**case.inputs)
    assert values(prediction, case) == case.values
    [step] = prediction.run.steps
    assert step.tool == VALIDATION_ERROR
    told = [fault["path"].replace("[", ".").replace("]", "") for fault in step.observation["faults"]]
    for wanted in case.faults:
        assert any(_near(wanted, path) for path in told), (wanted, told)
    assert all(any(_near(wanted, path) for wanted in case.faults) for path in told)


def _near(one: str, other: str) -> bool:
    """Whether one place is the other, in it, or around it: a union may be told as a whole or by a branch."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


@pytest.mark.parametrize(
    ("mode", "step", "most"),
    [("native", 3, 3), pytest.param("native", 1, 6, marks=LONG), pytest.param("json", 1, 6, marks=LONG)],
)
def test_malformed_outputs_are_read_or_asked_for_again(mode: str, step: int, most: int) -> None:
    again: list[str] = []
    for case in CASES[::step]:
        for written in case.malformed:
            with agent(case.signature, mode, [text(written), gives(mode, case.clean)]) as (asked, server):
                assert values(asked(**case.inputs), case) == case.values
                again += [case.id] * (len(server.chats) - 1)
    assert len(again) <= most, "of two each: those that end in the middle of a number, or after a comma"


@pytest.mark.parametrize("mode", MODES)
def test_prose_is_no_answer_and_ends_malformed(mode: str) -> None:
    prose = [text("Rome is the capital.")] * 3
    with agent(SURE, mode, prose) as (asked, server):
        run = asked.ask("Capital?", document="Italy")
        asks = [chat.messages[-1]["content"] for chat in server.chats[1:]]
    assert run.termination_reason == "malformed"
    assert [step.tool for step in run.steps] == [MALFORMED_DECISION] * 3
    assert all('"confidence": <number>' in asked for asked in asks)
    assert run.outputs is None


@pytest.mark.parametrize("mode", MODES)
def test_outputs_that_come_beside_a_call_wait_for_its_result(mode: str) -> None:
    outputs = {"answer": "x", "confidence": 1.0}
    if mode == "native":
        both = calls(("look_up", {"word": "x"}), ("submit", outputs))
    else:
        both = text(json.dumps([{"tool": {"name": "look_up", "args": {"word": "x"}}}, {"final": outputs}]))
    with agent(SURE, mode, [both, gives(mode, outputs)]) as (asked, server):
        run = asked.ask("Capital?", document="Italy")
        assert len(server.chats) == 2
    assert run.steps[0].tool == "look_up"
    assert run.outputs == outputs


def sure_of_it(run: Run, event: Event) -> Verdict | None:
    if isinstance(event, BeforeFinish) and event.outputs.get("confidence", 0) == 0:
        return Violation("say how sure you are.")
    return None


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_can_require_evidence_in_the_outputs(mode: str) -> None:
    script = [gives(mode, {"answer": "Rome", "confidence": 0}), gives(mode, {"answer": "Rome", "confidence": 0.9})]
    with agent(SURE, mode, script, rules=[sure_of_it]) as (asked, server):
        run = asked.ask("Capital?", document="Italy")
        last = server.chats[-1].messages[-1]["content"]
    assert run.outputs == {"answer": "Rome", "confidence": 0.9}
    assert run.answer == "Rome"
    assert "say how sure you are." in last


class Even(BaseModel):
    value: int

    @field_validator("value")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


class GiveEven(dspy.Signature):
    """Give an even number."""

    wish: str = dspy.InputField(desc="what kind of number")
    number: Even = dspy.OutputField(desc="the number")


@pytest.mark.parametrize("mode", MODES)
def test_validators_judge_what_no_schema_says(mode: str) -> None:
    script = [gives(mode, {"number": {"value": 3}}), gives(mode, {"number": {"value": 4}})]
    with agent(GiveEven, mode, script) as (asked, server):
        prediction = asked(wish="a small one")
        system = server.chats[0].messages[0]["content"]
    assert prediction.number == Even(value=4)
    assert "must be even" in prediction.run.steps[0].observation["message"]
    assert "Give an even number." in system
    assert "- wish: what kind of number" in system


def test_the_tool_that_takes_outputs_is_renamed_where_its_name_is_taken() -> None:
    @tool
    def submit(form: str) -> str:
        """Submit a form."""
        return f"{form} is in"

    script = [call("submit", {"form": "A1"}), call("submit_2", {"done": True, "form": "A1"})]
    with ModelServer(script) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, "none")
        run = MicroAgent("wish -> form: str, done: bool", tools=[submit], lm=lm).ask("A1")
        names = [one["function"]["name"] for one in (server.chats[0].body or {})["tools"]]
    assert names == ["submit", "submit_2"]
    assert run.steps[0].observation == "A1 is in"


def test_one_text_of_any_name_is_the_answer() -> None:
    with agent("document -> summary", "native", [text("A short one.")], finish="text") as (asked, server):
        prediction = asked(document="A long one.")
        assert server.chats[0].messages[-1]["content"] == "A long one."
    assert prediction.summary == prediction.run.answer == "A short one."
    assert prediction.run.outputs == {"summary": "A short one."}
    assert prediction.run.inputs == {"document": "A long one."}


def test_several_inputs_have_their_names_before_them() -> None:
    with agent("notes: list[str], question -> answer", "native", [text("b")], finish="text") as (asked, server):
        run = asked.ask("Which?", notes=["a", "b"])
        assert server.chats[0].messages[-1]["content"] == 'notes: ["a", "b"]\n\nquestion: Which?'
    assert run.inputs == {"notes": ["a", "b"], "question": "Which?"}


def test_a_failed_run_has_empty_texts_for_metrics() -> None:
    with agent(SURE, "native", [text("no")] * 3) as (asked, _):
        prediction = asked(document="d", question="q")
    assert prediction.answer == ""
    assert prediction.confidence is None
    assert prediction.status == "stopped"


@pytest.mark.parametrize(
    ("signature", "options", "told"),
    [
        ("no arrow ->", {}, "cannot be read"),
        ("question -> a: int", {"finish": "text"}, "'call' or 'auto'"),
        ("limits -> answer", {}, "has an option of that name"),
        ("sound: dspy.Audio -> answer", {}, "agents do not take"),
    ],
)
def test_what_no_agent_can_work_to_is_refused_at_once(signature: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        MicroAgent(signature, tools=[], **options)


def test_a_signature_or_tools_given_twice_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="tools was given twice"):
        MicroAgent([look_up], tools=[look_up])
    with pytest.raises(ConfigurationError, match="signature was given twice"):
        MicroAgent("a -> b", signature="a -> b")


@pytest.mark.parametrize(
    ("inputs", "told"), [({}, "missing: document"), ({"document": "d", "more": 1}, "unknown: more")]
)
def test_wrong_inputs_are_named(inputs: dict[str, Any], told: str) -> None:
    with agent(SURE, "native", []) as (asked, _), pytest.raises(TypeError, match=told):
        asked.ask("q", **inputs)


def test_inputs_of_another_type_are_named() -> None:
    with agent("count: int -> answer", "native", []) as (asked, _), pytest.raises(TypeError, match="input 'count'"):
        asked(count="many")


@pytest.mark.parametrize("mode", MODES)
def test_two_different_answers_are_ambiguous(mode: str) -> None:
    both = '{"answer": "Rome", "confidence": 1} or {"answer": "Milan", "confidence": 0.2}'
    with agent(SURE, mode, [text(both), gives(mode, {"answer": "Rome", "confidence": 1.0})]) as (asked, server):
        run = asked.ask("Capital?", document="Italy")
        assert "2 different objects" in server.chats[1].messages[-1]["content"]
    assert run.answer == "Rome"


@pytest.mark.parametrize("mode", MODES)
def test_an_object_around_the_outputs_is_taken_off(mode: str) -> None:
    with agent(SURE, mode, [text('Here: {"result": {"answer": "Rome", "confidence": 1.0}}')]) as (asked, _):
        assert asked.ask("Capital?", document="Italy").outputs == {"answer": "Rome", "confidence": 1.0}


@pytest.mark.parametrize("mode", MODES)
def test_the_one_output_may_stand_under_final_by_itself(mode: str) -> None:
    with agent("text -> count: int", mode, [text('{"final": 3}')]) as (asked, _):
        assert asked(text="a b c").count == 3


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_was_cut_off_is_not_completed(mode: str) -> None:
    half = text('{"answer": "Rome"').with_(finish_reason="length")
    with agent(SURE, mode, [half, gives(mode, {"answer": "Rome", "confidence": 1.0})]) as (asked, server):
        assert asked.ask("Capital?", document="Italy").answer == "Rome"
        assert "Be shorter." in server.chats[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("mode", "form"), [("native", "Call submit with {"), ("json", '{"final": {"answer": "<text>"')]
)
def test_without_tools_the_one_thing_to_do_is_named(mode: str, form: str) -> None:
    with ModelServer([text("Rome."), gives(mode, {"answer": "Rome", "confidence": 1.0})]) as server:
        provider, url = ("openai", server.openai_url) if mode == "native" else ("ollama", server.url)
        asked = MicroAgent(SURE, tools=[], lm=configure_lm(provider, "scripted", url, "none"))
        assert asked.ask("Capital?", document="Italy").answer == "Rome"
        told = server.chats[1].messages[-1]["content"]
    assert form in told
    assert "Tools:" not in told


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ('{"oops": 1}', None), ("```json\n{\"oops\": 1}\n```", None), ('{"summary": " "}', None), ("[1, 2]", "[1, 2]"),
        ('{"summary": "Short."}', "Short."), ("Short.", "Short."),
    ],
)  # fmt: skip
def test_an_object_is_an_answer_in_json_mode_only_if_it_is_the_output(said: str, wanted: str | None) -> None:
    script = [text(said), final("Later.")]
    with agent("document -> summary", "json", script, finish="text") as (asked, _):
        run = asked.ask(document="A long one.")
    assert run.answer == (wanted or "Later.")
    assert [step.tool for step in run.steps] == ([] if wanted else [MALFORMED_DECISION])


def test_a_type_without_a_json_form_is_refused_at_once() -> None:
    class Give(dspy.Signature):
        wish: str = dspy.InputField()
        odd: Callable[[int], int] = dspy.OutputField()

    with pytest.raises(ConfigurationError, match="no JSON form"):
        MicroAgent(Give, tools=[])


def test_a_signature_has_inputs_and_outputs() -> None:
    class Nothing(dspy.Signature):
        answer: str = dspy.OutputField()

    with pytest.raises(ConfigurationError, match="has inputs and outputs"):
        MicroAgent(Nothing, tools=[])


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_cannot_be_read_is_told_as_one(mode: str) -> None:
    bad = text('{"tool": {"name": "look_up", "args": {"word": }}}')
    with agent(SURE, mode, [bad, gives(mode, {"answer": "Rome", "confidence": 1.0})]) as (asked, server):
        assert asked.ask("Capital?", document="Italy").answer == "Rome"
        assert '"word"' in server.chats[1].messages[-1]["content"]
