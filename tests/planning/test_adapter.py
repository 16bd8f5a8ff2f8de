# pyright: reportUnknownMemberType=false
"""From a run to DSPy's typed request and from its reply to a record: what the other tests do not see on the wire."""

from dspy import lm15

from micro_agent import MicroAgent
from micro_agent.planning.adapter import DecisionAdapter
from micro_agent.planning.signature import PlanWithTools
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.wires import JsonWire, NativeWire


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_messages_are_rendered_once_and_then_kept() -> None:
    lm = ScriptedLM([call("add", {"a": n, "b": 2}) for n in range(3)] + [text("Done.")])
    MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    first, last = lm.requests[0], lm.requests[-1]
    assert all(one is other for one, other in zip(first.messages, last.messages, strict=False))
    assert first.tools == last.tools
    assert first.config is last.config


def test_settings_that_dspy_changes_go_with_the_next_request() -> None:
    lm = ScriptedLM([text("one"), text("two")])
    agent = MicroAgent(tools=[add], lm=lm.copy(temperature=0.5, top_p=0.9), rules=[])
    agent.ask("?")
    agent.plan.config["temperature"] = 0.9
    run = agent.ask("?")
    assert [(r.config.temperature, r.config.top_p) for r in lm.requests] == [(0.5, 0.9), (0.9, 0.9)]
    assert run.calls[0].settings == {"temperature": 0.9}


def test_a_reply_that_could_not_be_read_is_a_completion_too() -> None:
    adapter = DecisionAdapter(JsonWire(), [])
    completions = adapter(ScriptedLM([text("")]), {}, PlanWithTools, [], {"question": "?", "steps": []})
    assert completions[0]["decision"]["error"]["reason"] == "empty"
    assert adapter.last.error == completions[0]["decision"]["error"]


def test_without_a_constraint_no_schema_is_sent() -> None:
    lm = ScriptedLM([text("x"), text("x")])
    for constrained in (True, False):
        adapter = DecisionAdapter(JsonWire(), [], constrained=constrained)
        adapter(lm, {}, PlanWithTools, [], {"question": "?", "steps": []})
    assert [bool(request.config.response_format) for request in lm.requests] == [True, False]


def test_a_question_no_server_could_receive_is_mended() -> None:
    lm = ScriptedLM([text("x")])
    run = MicroAgent(tools=[], lm=lm, rules=[]).ask("half a \ud83d smile")
    assert run.status == "completed"
    assert lm.requests[0].messages[-1] == lm15.Message.user("half a ? smile")


def test_the_record_of_a_reply_has_what_was_mended_to_read_it() -> None:
    lm = ScriptedLM([text("{'name': 'add', 'arguments': {'a': 1, 'b': 2}}"), text("3")])
    run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    assert run.calls[0].repairs
    assert run.calls[0].reply["text"] == "{'name': 'add', 'arguments': {'a': 1, 'b': 2}}"
    assert isinstance(NativeWire().answer(""), lm15.Message)
