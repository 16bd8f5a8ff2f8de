"""Spans on their way to a real collector on loopback, as OpenTelemetry's own exporter sends them."""

import asyncio
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from errno import ECONNREFUSED

import pytest

from micro_agent import MicroAgent, Run, Tool, configure_lm
from micro_agent.effects import Approval
from micro_agent.errors import ConfigurationError
from micro_agent.observing import Endpoint, Exporter, Span, exporting, spans_of
from micro_agent.run import WARNING, LMCall, Step
from micro_agent.run.span_ids import span_id, traceparent
from micro_agent.running.observers import called_by, caller, observers, observing
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, calls, decision, final, text
from micro_agent.traces import TraceStore
from tests.observing.collector import Collector, Seen, collecting
from tests.observing.test_spans import CALLER, LOOK, SCHEMA, change

pytestmark = pytest.mark.usefixtures("prose_is_final")


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def ids(spans: "list[Span] | list[Seen]") -> set[str]:
    return {span.id for span in spans}


def test_spans_come_while_the_run_goes_on_and_its_own_at_the_end(collector: Collector, store: TraceStore) -> None:
    def wait(path: str) -> str:
        collector.wait_for("tool_wrapped.look")
        return "seen" if not collector.named("agent.run") else "too early"

    tools = [LOOK, Tool("wait", "Wait.", SCHEMA, wait)]
    lm = ScriptedLM([call("look", {"path": "a"}), call("wait", {"path": "b"}), text("Done.")])
    agent = MicroAgent(tools=tools, lm=lm, rules=[], traces=store)
    with exporting(Endpoint(collector.url, project="tests", service="me")) as exporter:
        run = agent.ask("Look.")
    assert observers() == ()
    assert run.steps[1].observation == "seen"
    assert (exporter.sent, exporter.lost) == (len(collector.spans), 0)
    assert collector.spans[-1].name == "agent.run"
    expected = {span.id: span for span in spans_of(store.load(run.id))}
    assert ids(collector.spans) == expected.keys()
    for seen in collector.spans:
        span = expected[seen.id]
        assert (seen.name, seen.trace, seen.parent) == (span.name, span.trace, span.parent or "")
        assert (seen.start, seen.end) == (span.start, span.end)
        assert seen.attributes == span.attributes
        assert seen.status == (1 if span.ok else 0)
    (resource, *_) = collector.resources
    assert [resource[name] for name in ("service.name", "openinference.project.name")] == ["me", "tests"]


def test_a_paused_run_has_its_own_span_when_it_has_ended(collector: Collector, store: TraceStore) -> None:
    tool = Tool("change", "Change.", SCHEMA, change, requires_confirmation=True)
    lm = ScriptedLM([call("change", {"path": "a"}), text("Done.")])
    agent = MicroAgent(tools=[tool], lm=lm, rules=[], traces=store)
    with exporting(Endpoint(collector.url)):
        run = agent.ask("Change it.")
    assert [span.name for span in collector.spans] == ["model.step"]
    with exporting(Endpoint(collector.url)):
        run = agent.resume(run.id, Approval("approve"))
    names = ["model.step", "approval.wait", "tool_wrapped.change", "model.step", "agent.run"]
    assert [span.name for span in collector.spans] == names
    assert [event for event, _ in collector.spans[-1].events] == [run.steps[0].tool]


def test_an_error_has_its_words_and_secrets_are_masked_everywhere(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", secret := "9f8e7d6c5b4a-secret")
    run = Run(
        question=f"Use {secret}.", status="failed", termination_reason="lm_error", error={"message": f"no {secret}"},
        calls=[LMCall(reply={"text": f"{secret}", "tool_calls": [{"name": "x", "arguments": {"key": secret}}]})],
        steps=[Step(tool="look", observation=secret, call=0, approval={"feedback": secret}),
               Step(tool="run", programs=[{"argv": [["curl", secret, "\ud800"]]}], ok=False),
               Step(tool=WARNING, observation=secret)],
    )  # fmt: skip
    exporter = Exporter(Endpoint(collector.url, headers={"authorization": "Bearer 0123456789-collectors-key"}))
    exporter.send(spans_of(run, content=True))
    assert exporter.close()
    assert len(collector.spans) == 6
    assert not any(secret.encode() in body for body in collector.raw)
    assert collector.spans[-1].message == "lm_error: no [env:SERVICE_API_KEY]"
    (program,) = [span for span in collector.spans if span.name == "sandbox.curl"]
    assert program.attributes["process.command_args"] == ["curl", "[env:SERVICE_API_KEY]", "?"]
    assert collector.headers[0]["authorization"] == "Bearer 0123456789-collectors-key"


def test_a_collector_that_is_not_there_costs_nothing_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1/traces"
    agent = MicroAgent(tools=[LOOK], lm=ScriptedLM([text("1."), text("2.")]), rules=[])
    with caplog.at_level(logging.INFO), exporting(Endpoint(url), within_s=30.0) as exporter:
        assert agent.ask("One?").answer == "1."
        assert agent.ask("Two?").answer == "2."
    assert (exporter.sent, exporter.lost) == (0, 4)
    (said,) = caplog.messages
    assert said.startswith(f"spans cannot be sent to {url} ([Errno {ECONNREFUSED}] Connection refused); runs go on")


def test_a_collector_that_refuses_is_left_alone_for_a_while(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 400
    exporter = Exporter(Endpoint(collector.url))
    many = [span for _ in range(300) for span in spans_of(Run(question="?"))]
    exporter.send(many, wait=True)
    logging.getLogger("opentelemetry.exporter.otlp.common").warning("another's")
    assert not exporter.close(30.0)
    assert (exporter.sent, exporter.lost) == (0, 300)
    assert len(caplog.messages) == 2
    assert "another's" in caplog.messages
    assert "code: 400" in caplog.text


def test_what_goes_wrong_again_is_not_said_again(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    collector.status = 400
    exporter = Exporter(Endpoint(collector.url), again_s=0.0)
    exporter.send([span for _ in range(600) for span in spans_of(Run(question="?"))])
    assert not exporter.close(30.0)
    assert (exporter.lost, len(caplog.messages)) == (600, 1)


def test_a_collector_that_does_not_answer_is_not_waited_for(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.held.clear()
    exporter = Exporter(Endpoint(collector.url))
    exporter.send(spans_of(Run(question="?")))
    assert not exporter.close(0.3)
    assert "did not answer in time" in caplog.text
    collector.held.set()


def test_what_is_too_much_is_dropped_and_counted(collector: Collector) -> None:
    collector.held.clear()
    exporter = Exporter(Endpoint(collector.url), most_waiting=5)
    exporter.send([span for _ in range(600) for span in spans_of(Run(question="?"))])
    assert exporter.lost >= 600 - 256 - 5
    threading.Timer(0.1, collector.held.set).start()
    assert not exporter.close(30.0)
    assert exporter.sent + exporter.lost == 600


def test_it_comes_at_the_second_try(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    collector.status = 503
    exporter = Exporter(Endpoint(collector.url))
    exporter.send(spans_of(Run(question="?")))
    threading.Timer(0.5, setattr, (collector, "status", 200)).start()
    with collector.came:
        assert collector.came.wait_for(lambda: bool(collector.spans), 30.0)
    assert exporter.close(30.0)
    assert (exporter.sent, caplog.messages) == (1, [])


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    package = "opentelemetry.exporter.otlp.proto.http"
    for missing in (package, package.rpartition(".")[0]):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ConfigurationError, match=r"install the extra, with pip install '.\[otel\]'"):
            Exporter(Endpoint("http://127.0.0.1:9/v1/traces"))
        monkeypatch.delitem(sys.modules, missing)


def test_nothing_of_opentelemetry_is_imported_where_it_is_off() -> None:
    script = """
import sys
from micro_agent.observing import endpoint, spans_of
from micro_agent.run import Run
assert endpoint(None, {}) is None
assert len(spans_of(Run(question="?"))) == 1
assert not [name for name in sys.modules if name.startswith(("opentelemetry", "dspy"))]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_observer_that_fails_harms_no_run(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def began(self, run: Run) -> None:
            raise ValueError("no")

        moved = ended = began

    agent = MicroAgent(tools=[LOOK], lm=ScriptedLM([call("look", {"path": "a"}), text("Done.")]), rules=[])
    with observing(Broken()):
        assert agent.ask("Look.").answer == "Done."
    assert set(caplog.messages) == {"an observer failed (ValueError: no); the run goes on"}


def test_a_model_server_is_told_which_span_asks_it(collector: Collector) -> None:
    replies = [decision("look", {"path": "a"}), final("Lines.")]
    with ModelServer([*replies, *replies]) as server:
        lm = configure_lm("openai", "tiny", server.openai_url)
        agent = MicroAgent(tools=[LOOK], lm=lm, rules=[], mode="json")
        agent.ask("Look.")
        assert "traceparent" not in server.chats[0].headers
        with exporting(Endpoint(collector.url)), called_by(CALLER):
            run = asyncio.run(agent.aask("Look."))
        told = [chat.headers["traceparent"] for chat in server.chats[2:]]
    steps = collector.named("model.step")
    assert told == [f"00-{CALLER[3:35]}-{span.id}-01" for span in steps]
    assert {span.trace for span in collector.spans} == {CALLER[3:35]}
    (root,) = collector.named("agent.run")
    assert (root.parent, run.traceparent) == (CALLER[36:52], CALLER)


def test_questions_to_the_model_and_other_replies_are_told_to_its_server_too(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRO_AGENT_FINISH", "ask")

    def play(request: Received) -> Reply:
        return text(request.yes or "Lines.")

    with ModelServer(play) as server, exporting(Endpoint(collector.url)):
        lm = configure_lm("openai", "tiny", server.openai_url)
        run = MicroAgent(tools=[LOOK], lm=lm, rules=[], samples=2).ask("Look.")
        told = [chat.headers["traceparent"] for chat in server.chats]
    assert told[:2] == [traceparent(run, "call", 0)] * 2
    assert told[-1] == traceparent(run, "step", 0)
    assert span_id(run, "step", 0) in ids(collector.spans)


def test_an_agent_that_a_tool_asks_is_below_the_tool(collector: Collector) -> None:
    inner = MicroAgent(tools=[LOOK], lm=ScriptedLM([text("1."), text("2.")]), rules=[])
    runs: list[Run] = []

    def ask(path: str) -> str:
        runs.append(inner.ask(path))
        return "asked"

    tool = Tool("ask", "Ask.", SCHEMA, ask, read_only=True)
    lm = ScriptedLM([calls(("ask", {"path": "a"}), ("ask", {"path": "b"})), text("Done.")])
    with exporting(Endpoint(collector.url)):
        run = MicroAgent(tools=[tool], lm=lm, rules=[]).ask("Ask.")
    below = {span.parent for span in collector.named("agent.run") if span.id != span_id(run)}
    assert below == ids(collector.named("tool_wrapped.ask"))
    assert {span.trace for span in collector.spans} == {run.id}


def test_a_run_belongs_to_nobody_where_nobody_watches() -> None:
    with called_by(CALLER):
        assert caller() is None
        run = MicroAgent(tools=[], lm=ScriptedLM([text("1.")]), rules=[]).ask("One?")
    assert run.traceparent is None


def test_what_names_no_span_changes_nothing(collector: Collector) -> None:
    with exporting(Endpoint(collector.url)), called_by(CALLER), called_by("nonsense"):
        assert caller() == CALLER
