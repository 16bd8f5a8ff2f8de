"""The settings that the next request changes: on the wire, in the record, and never against the server's will."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.planning.resampling import Tries, changes
from micro_agent.rules.asking_again import ASKING, Kind
from micro_agent.run import POLICY_VIOLATION, LMCall, Mode, Step
from micro_agent.testing import ModelServer, Received, Reply, call, decision, error, final, text
from tests.each import each

HELD = {"temperature": 0.2, "max_tokens": 100}
CUT = text("Let me think about", finish_reason="length")


def run_of(*replies: tuple[Kind | None, str]) -> Run:
    """A run in which each reply has a text and came to nothing in this way; ``None`` is a call that was run."""
    run = Run(question="?")
    for index, (kind, said) in enumerate(replies):
        run.calls.append(LMCall(reply={"text": said, "tool_calls": []}))
        if kind is None:
            run.steps.append(Step(tool="add", observation=3, call=index))
        else:
            row = ASKING[kind]
            run.steps.append(Step(tool=row.marker or "", error=row.code, ok=False, call=index))
    return run


def same_replies(times: int, kind: Kind = "malformed") -> list[tuple[Kind | None, str]]:
    return [(kind, "{")] * times


def asked(
    replies: list[Reply],
    *,
    mode: Mode = "native",
    provider: str = "openai",
    asynchronous: bool = False,
    **settings: Any,
) -> tuple[Run, list[dict[str, Any]]]:
    """The run over a server, and for each of its requests the sampling settings in it."""
    with ModelServer(replies) as server:
        url = server.openai_url if provider == "openai" else server.url
        agent = MicroAgent(lm=configure_lm(provider, "scripted", url, **settings), mode=mode)
        run = asyncio.run(agent.aask("What is 2*8?")) if asynchronous else agent.ask("What is 2*8?")
        return run, [sampling(request) for request in server.chats]


def sampling(request: Received) -> dict[str, Any]:
    body: Mapping[str, Any] = request.body or {}
    options: Mapping[str, Any] = body.get("options") or body
    found = {name: options.get(name) for name in ("seed", "temperature")}
    found |= {"max_tokens": options.get("max_tokens", options.get("num_predict")), "choice": body.get("tool_choice")}
    return {name: value for name, value in found.items() if value is not None}


def test_an_ordinary_request_changes_nothing() -> None:
    assert changes(Run(question="?"), HELD) == {}
    assert changes(run_of((None, "")), HELD, room=5000) == {}
    assert changes(run_of(("malformed", "{"), ("malformed", "[")), HELD) == {}
    assert changes(run_of(("malformed", "{"), (None, ""), ("malformed", "{")), HELD) == {}


@pytest.mark.parametrize(
    ("cuts", "room", "limit", "wanted"),
    [
        (1, None, 100, 200),
        (2, None, 100, 200),
        (1, 5000, 100, 200),
        (2, 5000, 100, 400),
        (3, 5000, 100, 400),
        (2, 250, 100, 250),
        (1, 100, 100, None),
        (1, 30, 100, None),
        (1, 5000, None, None),
    ],
)
def test_a_cut_reply_gets_more_room_as_far_as_there_is_some(
    cuts: int, room: int | None, limit: int | None, wanted: int | None
) -> None:
    run = run_of(*same_replies(cuts, "cut_off"))
    assert changes(run, {"max_tokens": limit}, room=room).get("max_tokens") == wanted


def test_after_another_reply_the_length_is_the_usual_one() -> None:
    assert changes(run_of(("cut_off", "a"), ("malformed", "{")), HELD) == {}
    assert changes(run_of(("cut_off", "a"), (None, "")), HELD) == {}


def test_the_same_bad_reply_twice_gets_another_seed_and_a_higher_temperature() -> None:
    twice, often = [run_of(*same_replies(times)) for times in (2, 4)]
    assert changes(twice, HELD) == {"seed": 2, "temperature": 0.5}
    assert changes(often, HELD) == {"seed": 4, "temperature": 1.0}
    assert changes(twice, {"seed": 40}) == {"seed": 42}
    assert changes(twice, {"temperature": 1.3}) == {"seed": 2}


@pytest.mark.parametrize(
    ("failed", "changed"), [(1, {}), (2, {"seed": 2, "temperature": 0.5}), (3, {"seed": 3, "temperature": 0.8})]
)
def test_a_server_that_fails_twice_is_asked_otherwise(failed: int, changed: dict[str, Any]) -> None:
    assert changes(Run(question="?"), HELD, failed=failed) == changed


def test_call_ids_do_not_make_replies_different() -> None:
    run = run_of(("bad_arguments", ""), ("bad_arguments", ""))
    for index, made in enumerate(run.calls):
        made.reply["tool_calls"] = [{"id": f"x{index}", "name": "add", "arguments": "{}"}]
    assert "seed" in changes(run, HELD)
    run.calls[1].reply["tool_calls"][0]["arguments"] = '{"a": 1}'
    assert changes(run, HELD) == {}


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_cut_reply_is_asked_for_again_with_more_tokens_and_then_as_before(provider: str) -> None:
    replies = [CUT, call("calculator", {"expression": "2*8"}), final("16")]
    run, sent = asked(replies, provider=provider, max_tokens=300)
    assert [one["max_tokens"] for one in sent] == [300, 600, 300]
    assert [one.settings for one in run.calls] == [{}, {"max_tokens": 600}, {}]
    assert run.answer == "16"


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_what_was_changed_for_the_same_reply_is_on_the_wire_and_in_the_record(provider: str) -> None:
    replies = [text(""), text(""), call("calculator", {"expression": "2*8"}), final("16")]
    run, sent = asked(replies, provider=provider)
    assert sent[2] | {"max_tokens": 1} == {"seed": 2, "temperature": 0.5, "max_tokens": 1}
    assert run.calls[2].settings == {"seed": 2, "temperature": 0.5}
    assert [one.settings for one in (run.calls[0], run.calls[1], run.calls[3])] == [{}, {}, {}]
    assert "seed" not in sent[3]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_server_that_breaks_on_one_request_gets_another_sample(asynchronous: bool) -> None:
    broken = error(500, "error parsing tool call: unexpected end of JSON input", retry_after=0)
    replies = [broken, broken, call("calculator", {"expression": "2*8"}), broken, final("16")]
    run, sent = asked(replies, asynchronous=asynchronous)
    assert [one.get("seed") for one in sent] == [None, None, 2, None, None]
    assert [one["temperature"] for one in sent] == [0.2, 0.2, 0.5, 0.2, 0.2]
    assert [(one.retries, one.settings) for one in run.calls] == [(2, {"seed": 2, "temperature": 0.5}), (1, {})]
    assert run.answer == "16"


def test_an_overloaded_server_is_no_reason_to_sample_otherwise() -> None:
    busy = error(503, "busy", retry_after=0)
    run, sent = asked([busy, busy, call("calculator", {"expression": "2*8"}), final("16")])
    assert all("seed" not in one for one in sent)
    assert run.answer == "16"


@pytest.mark.parametrize(
    ("refusal", "left"),
    [
        ("Unsupported parameter: 'seed' is not supported with this model.", {"temperature": 0.5}),
        ("Extra inputs are not permitted.", {"temperature": 0.2}),
    ],
)
def test_a_server_that_refuses_a_change_is_asked_without_it_for_the_rest_of_the_run(
    refusal: str, left: dict[str, Any]
) -> None:
    replies = [
        text(""), text(""), error(400, refusal), call("calculator", {"expression": "2*8"}), text(""), text(""),
        final("16"),
    ]  # fmt: skip
    run, sent = asked(replies)
    assert [one.get("seed") for one in sent] == [None, None, 2, None, None, None, None]
    assert [sent[index]["temperature"] for index in (3, 6)] == [left["temperature"]] * 2
    assert (run.status, run.answer) == ("completed", "16")


def test_a_refusal_of_the_request_itself_ends_the_run() -> None:
    run, sent = asked([text(""), text(""), error(400, "no"), error(400, "no")])
    assert (run.status, run.termination_reason, len(sent)) == ("failed", "lm_error", 4)


def test_more_tokens_than_the_server_takes_are_not_asked_for_again() -> None:
    refusal = error(400, "max_tokens is too large: 2048. This model supports at most 1024 completion tokens")
    run, sent = asked([CUT, refusal, call("calculator", {"expression": "2*8"}), CUT, final("16")])
    assert [one["max_tokens"] for one in sent] == [1024, 2048, 1024, 1024, 1024]
    assert run.answer == "16"


def test_a_call_is_forced_after_two_answers_without_the_tool() -> None:
    with ModelServer([text("16"), text("It is 16."), call("calculator", {"expression": "2*8"}), text("16")]) as server:
        run = MicroAgent(lm=configure_lm("openai", "scripted", server.openai_url)).ask("What is 2*8?")
        sent = [request.body or {} for request in server.chats]
    assert [one.get("tool_choice") for one in sent] == [None, None, "required", None]
    assert [len(one["tools"]) for one in sent] == [2, 2, 1, 2]
    assert sent[2]["tools"][0]["function"]["name"] == "calculator"
    assert run.calls[2].settings == {"tool_choice": "calculator"}
    assert run.answer == "16"


def refused(wants: str) -> Step:
    """An answer that a rule refused."""
    return Step(tool=POLICY_VIOLATION, args={"wants": wants}, error="POLICY", ok=False)


TEST, LOOK = Step(tool="test", observation=1), Step(tool="look", observation=1)
LACKING: list[tuple[list[Step], str | None]] = [
    ([refused("test"), refused("test")], "test"),
    ([refused("test"), LOOK, refused("test")], "test"),
    ([refused("test"), refused("test"), LOOK], None),
    ([refused("test"), TEST, refused("test")], None),
    ([refused("look"), refused("test")], None),
    ([refused("look"), LOOK, refused("test"), refused("test")], "test"),
    ([refused("look"), refused("test"), refused("look")], "look"),
]


@each(["steps", "forced"], LACKING)
def test_the_tool_that_was_asked_for_twice_and_not_called_between_is_forced(steps: list[Step], forced: str | None):
    run = Run(question="?", steps=steps, calls=[LMCall(reply={"text": str(at)}) for at in range(len(steps))])
    for at, step in enumerate(run.steps):
        step.call = at
    assert changes(run, {}).get("tool_choice") == forced


def test_in_json_mode_the_schema_leaves_no_answer() -> None:
    replies = [final("16"), final("It is 16."), decision("calculator", {"expression": "2*8"}), final("16")]
    with ModelServer(replies) as server:
        agent = MicroAgent(lm=configure_lm("openai", "scripted", server.openai_url), mode="json")
        run = agent.ask("What is 2*8?")
        schemas = [(request.body or {})["response_format"]["json_schema"]["schema"] for request in server.chats]
    assert ["final" in str(schema) for schema in schemas] == [True, True, False, True]
    assert ["now" in str(schema) for schema in schemas] == [True, True, False, True]
    assert run.answer == "16"


def test_where_no_schema_is_sent_a_call_is_asked_for_in_words_alone() -> None:
    refusal = error(400, "response_format of type json_schema is not supported")
    answers = [final("16"), final("It is 16."), decision("calculator", {"expression": "2*8"}), final("16")]
    run, sent = asked([refusal, *answers], mode="json")
    assert run.answer == "16"
    assert all("choice" not in one for one in sent)


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_cannot_force_a_call_is_not_asked_to(status: int) -> None:
    refusal = error(status, "tool_choice is not supported", retry_after=0)
    run, sent = asked([text("16"), text("It is 16."), refusal, call("calculator", {"expression": "2*8"}), text("16")])
    assert [one.get("choice") for one in sent] == [None, None, "required", None, None]
    assert run.answer == "16"


def test_a_failure_without_a_status_counts_as_none() -> None:
    tries = Tries()
    assert not tries.without(TimeoutError())
    assert (tries.failed, tries.refused) == (0, set())
