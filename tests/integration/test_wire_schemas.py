"""Schemas that a server refuses, and what is asked instead; a scripted server says what real ones say."""

import json
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.effects import Approval
from micro_agent.replay import verify
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, decision, error, text
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.usefixtures("prose_is_final")

UNABLE = (
    "Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at "
    "#/properties/x: schema must be an object"
)
NO_MATCH = "The model produced output that does not match the expected peg-native format"
ANY = {"type": "object", "properties": {"x": True}, "required": ["x"]}
MAIL = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^[^@]+@.+$"}}, "required": ["x"]}
NUMBER = {"type": "object", "properties": {"x": {"type": "string", "pattern": r"^\d+$"}}, "required": ["x"]}


def take(x: Any) -> str:
    return "taken"


def taking(schema: dict[str, Any], **options: Any) -> Tool:
    return Tool("take", "Take something.", schema, take, **options)


def schema_of(request: Received) -> str:
    body = request.body or {}
    return json.dumps([body.get("tools"), body.get("response_format"), body.get("format")])


def called(mode: Mode, x: Any) -> Reply:
    return call("take", {"x": x}) if mode == "native" else decision("take", {"x": x})


def asked(server: ModelServer, tool: Tool, mode: Mode, provider: str = "openai", **options: Any) -> Run:
    url = server.url if provider == "ollama" else server.openai_url
    lm = configure_lm(provider, "scripted", url, fallback=False)
    agent = MicroAgent([tool], lm, mode, [], Limits(max_steps=1), demos=[], **options)
    run = agent.ask("What is it?")
    (verdict,) = verify([run], MicroAgent([tool], ScriptedLM([]), rules=[], demos=[]))
    assert verdict.outcome == "same", list(verdict.lines())
    return run


@pytest.mark.parametrize(("mode", "provider"), [("native", "openai"), ("json", "openai"), ("json", "ollama")])
@pytest.mark.parametrize(
    ("schema", "bad", "refusal", "form"),
    [
        (ANY, '"x": true', error(400, UNABLE), "plain"),
        (ANY, '"x": true', error(500, "failed to parse grammar"), "plain"),
        (MAIL, "@.+", error(500, NO_MATCH), "patterns"),
    ],
)
def test_the_same_is_asked_with_a_schema_that_the_server_takes(
    mode: Mode, provider: str, schema: dict[str, Any], bad: str, refusal: Reply, form: str
) -> None:
    def picky(request: Received) -> Reply:
        spelled = schema_of(request)
        told = '"description": "pattern: ' in spelled
        return refusal if bad in spelled and not told else called(mode, "a@b")

    with ModelServer(picky) as server:
        run = asked(server, taking(schema), mode, provider)
        assert len(server.chats) == 2
    assert [(made.mode, made.request["schemas"], made.retries) for made in run.calls] == [(mode, form, 0)]
    assert [step.ok for step in run.steps] == [True]


def test_a_refusal_that_no_schema_is_to_blame_for_is_a_failure_as_ever() -> None:
    with ModelServer([error(500, NO_MATCH, retry_after=0)], repeat=True) as server:
        run = asked(server, taking(NUMBER), "native")
        assert len(server.chats) == 4
    assert (run.status, (run.error or {})["code"]) == ("failed", "SERVER_ERROR")


def test_without_a_schema_on_the_wire_no_form_of_it_is_tried() -> None:
    def breaking(request: Received) -> Reply:
        refused = "response_format" in (request.body or {})
        return error(400, "response_format is not supported") if refused else error(500, NO_MATCH, retry_after=0)

    with ModelServer(breaking) as server:
        run = asked(server, taking(NUMBER), "json")
        assert len(server.chats) == 5
    assert (run.error or {})["code"] == "SERVER_ERROR"


def test_what_is_refused_in_every_form_is_asked_for_in_words() -> None:
    def never(request: Received) -> Reply:
        body = request.body or {}
        return error(400, UNABLE) if "tools" in body or "response_format" in body else decision("take", {"x": 1})

    with ModelServer(never) as server:
        run = asked(server, taking(ANY), "native")
        assert ["tools" in (chat.body or {}) for chat in server.chats] == [True, True, False, False]
    assert (run.mode, run.steps[0].ok) == ("json", True)


def test_a_server_that_never_refused_gets_the_tool_s_own_schema() -> None:
    with ModelServer([called("native", "1")]) as server:
        run = asked(server, taking(NUMBER), "native")
        assert r"\\d" in schema_of(server.chats[0])
    assert "schemas" not in run.calls[0].request


def test_a_run_that_is_resumed_goes_on_with_what_was_learned(store: TraceStore) -> None:
    """The engine is another one, as in another process; the prefix is the same."""

    def picky(request: Received) -> Reply:
        if "@.+" in schema_of(request) and '"description": "pattern: ' not in schema_of(request):
            return error(500, NO_MATCH)
        return call("take", {"x": "a@b"}) if len(request.messages) < 4 else text("Taken.")

    sure = taking(MAIL, requires_confirmation=True)
    with ModelServer(picky) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        paused = MicroAgent([sure], lm, "native", [], traces=store, demos=[]).ask("What is it?")
        assert paused.status == "confirmation_required"
        other = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        done = MicroAgent([sure], other, "native", [], traces=store, demos=[]).resume(paused.id, Approval("approve"))
        assert (done.status, len(server.chats)) == ("completed", 3), "nothing is refused twice"
    assert {made.request["schemas"] for made in done.calls} == {"patterns"}
    with ModelServer([text("Taken.")]) as elsewhere:
        moved: Any = configure_lm("openai", "scripted", elsewhere.openai_url, fallback=False)
        again = paused.model_copy(deep=True)
        MicroAgent([sure], moved, "native", [], demos=[]).resume(again, Approval("approve"))
        assert moved.engine.schemas == "verbatim", "of another server nothing is known"
