"""Responses as OpenAI's own client meets them: items that are done, streamed or not, and what follows what."""

from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.testing import call, error, text
from tests.server.openai.conftest import SUM, Client, Error, add, events, says

if TYPE_CHECKING:
    from tests.server.conftest import Start

ASKED = "What is 2+3?"
BROKEN = [call("fail", {}), *SUM]
KINDS = ["mcp_call", "mcp_call", "message"]


def fail() -> str:
    """Fail."""
    raise ValueError("It is broken.")


def test_a_response_has_the_calls_that_were_made_and_the_answer(start: "Start") -> None:
    client = Client(start([*BROKEN, *BROKEN], tools=[add, fail]))
    done = client.respond(ASKED, instructions="Be brief.", metadata={"a": "b"})
    failed, made, message = done.output
    assert (done.status, done.output_text, done.instructions, done.metadata) == (
        "completed", "It is 5.", "Be brief.", {"a": "b"},
    )  # fmt: skip
    assert (failed.status, failed.name, failed.output) == ("failed", "fail", None)
    assert "It is broken." in failed.error
    assert (made.status, made.arguments, made.output, made.error) == ("completed", '{"a": 2, "b": 3}', "5", None)
    assert (made.server_label, message.role, message.status) == ("micro-agent", "assistant", "completed")
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.total_tokens) == (30, 15, 45)
    assert client.sent()[0]["content"].endswith("\n\nBe brief.")
    told = list(client.respond(ASKED, stream=True))
    kinds, streamed = [event.type for event in told], told[-1].response
    assert [item.type for item in streamed.output] == [item.type for item in done.output] == KINDS
    assert [item | {"id": 0} for item in streamed.output[:2]] == [item | {"id": 0} for item in done.output[:2]]
    assert (streamed.output_text, streamed.usage) == (done.output_text, done.usage)
    assert [kind for kind in kinds if "mcp_call." in kind] == [
        "response.mcp_call.in_progress", "response.mcp_call.failed",
        "response.mcp_call.in_progress", "response.mcp_call.completed",
    ]  # fmt: skip
    assert not [kind for kind in kinds if "function_call" in kind]


def test_the_events_have_numbers_and_the_names_of_their_kinds(start: "Start") -> None:
    client = Client(start(SUM, tools=[add, fail]))
    found = events(client.posted("/v1/responses", input=ASKED, stream=True).text)
    assert [data["sequence_number"] for _, data in found] == list(range(len(found)))
    assert all(name == data["type"] for name, data in found)
    assert [data["response"]["status"] for _, data in found if "response" in data] == [
        "in_progress", "in_progress", "completed",
    ]  # fmt: skip
    assert len({data["response"]["id"] for _, data in found if "response" in data}) == 1


def test_what_the_agent_thought_is_an_item_as_well(start: "Start") -> None:
    marked = text('<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call> I add.')
    client = Client(start([marked, SUM[1], marked, SUM[1]], tools=[add, fail]))
    done = client.respond(ASKED)
    streamed = client.responded(ASKED)
    assert [item.type for item in done.output] == [item.type for item in streamed.output]
    thought = next(item for item in done.output if item.type == "reasoning")
    assert "make_asked" in thought.summary[0].text


def test_a_response_follows_another_one(start: "Start") -> None:
    client = Client(start([*SUM, text("It is 10.")], tools=[add, fail]))
    first = client.respond(ASKED)
    second = client.respond([says("user", "And twice that?")], previous_response_id=first.id)
    run = client.serving.store.load(second.micro_agent["trace_id"])
    assert (second.previous_response_id, run.follows) == (first.id, first.micro_agent["trace_id"])
    assert [message["role"] for message in client.sent()][1:] == ["user", "assistant", "tool", "assistant", "user"]


def test_items_of_a_response_go_back_as_they_came(start: "Start") -> None:
    client = Client(start([*BROKEN, text("It is 10.")], tools=[add, fail]))
    first = client.respond(ASKED)
    thought: Any = {"type": "reasoning", "id": "rs_1", "summary": []}
    given: Any = [says("user", ASKED), thought, *(item for item in first.output), says("user", "And twice?")]
    run = client.serving.store.load(client.respond(given).micro_agent["trace_id"])
    assert [message["role"] for message in run.history] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [message["content"] for message in run.history][-2:] == ["5", "It is 5."]


@pytest.mark.parametrize(
    ("previous", "given", "status", "told"),
    [
        ("nonsense", "And?", 404, "no such response"),
        (f"resp_{'0' * 64}", "And?", 404, "not on record"),
        (None, [says("user", "And?"), says("user", "And?")], 400, "one message"),
    ],
)
def test_what_follows_nothing_is_refused(
    start: "Start", previous: str | None, given: Any, status: int, told: str
) -> None:
    client = Client(start([text("Hello.")]))
    with pytest.raises(Error, match=told) as refused:
        client.respond(given, previous_response_id=previous or client.respond("Hi!").id)
    assert refused.value.status == status


def test_a_response_whose_first_runs_are_gone_is_not_followed(start: "Start") -> None:
    client = Client(start([text("One."), text("Two."), text("Three.")]))
    first = client.respond("1?")
    second = client.respond("2?", previous_response_id=first.id)
    client.serving.store.path(first.micro_agent["trace_id"]).unlink()
    with pytest.raises(Error, match="not all runs before it") as refused:
        client.respond("3?", previous_response_id=second.id)
    assert refused.value.param == "previous_response_id"


def test_a_run_without_an_answer_is_a_failed_response(start: "Start") -> None:
    client = Client(start([error(400, "no such model"), error(400, "no such model")]))
    done = client.respond("Hi!")
    assert (done.status, done.output, done.error.code) == ("failed", [], "server_error")
    assert "MODEL_NOT_FOUND" in done.error.message
    *_, last = client.respond("Hi!", stream=True)
    assert (last.type, last.response.status, last.response.error) == ("response.failed", "failed", done.error) or (
        "no such model" in last.response.error.message
    )


def test_usage_that_nobody_knows_is_none(start: "Start") -> None:
    assert Client(start([text("Hello.", usage=None)])).respond("Hi!").usage is None
