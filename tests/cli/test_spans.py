"""Spans from the command line: of runs as they go, and of those on record."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent import MicroAgent
from micro_agent.cli.spans import seen
from micro_agent.errors import ConfigurationError
from micro_agent.run import Run, Step
from micro_agent.run.span_ids import span_id
from micro_agent.running.observers import observers
from micro_agent.testing import ScriptedLM, text
from micro_agent.traces import TraceStore
from tests.observing.collector import collecting
from tests.observing.test_spans import CALLER

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

ASKED = ("ask", "--provider", "mock", "What is 2*8?")


def test_a_run_is_sent_to_the_collector_that_is_configured_and_it_is_said_where_to_look(cli: "Cli"):
    with collecting() as collector:
        base = collector.url.removesuffix("/v1/traces")
        asked = cli(*ASKED, env={"PHOENIX_COLLECTOR_ENDPOINT": base, "TRACEPARENT": CALLER})
    assert asked.code == 0
    assert f"Spans: {base}/redirects/traces/{CALLER[3:35]}\n" in asked.err
    assert {span.trace for span in collector.spans} == {CALLER[3:35]}
    (root,) = collector.named("agent.run")
    assert (root.parent, "input.value" in root.attributes) == (CALLER[36:52], False)


def test_the_runs_of_an_eval_belong_to_the_span_that_is_named(cli: "Cli"):
    (cli.directory / "tasks.jsonl").write_text('{"id": "a", "question": "What is 2*8?", "expect_number": 16}\n')
    with collecting() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url.removesuffix("/v1/traces"), "TRACEPARENT": CALLER}
        assert cli("eval", "run", "--tasks", "tasks.jsonl", "--provider", "mock", env=env).code == 0
    assert {span.trace for span in collector.spans} == {CALLER[3:35]}


def test_runs_on_record_and_open_ones_are_sent_with_the_same_ids_each_time(cli: "Cli", tmp_path: Path):
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    env = {"MICRO_AGENT_STATE_DIR": str(tmp_path / "state")}
    ended = Run(question="One?", status="completed", answer="1.", steps=[Step(tool="look")])
    store.append(ended)
    store.start(Run(question="Two?", steps=[Step(tool="look")])).close()
    with collecting() as collector:
        sent = cli("traces", "export", "--otlp", collector.url, env=env)
        again = cli("traces", "export", ended.id, "--otlp", collector.url, "--content", env=env)
        (tmp_path / "traces" / f"{'0' * 32}.jsonl").write_text("garbage\n")
        damaged = cli("traces", "export", "--otlp", collector.url, env=env)
        collector.status = 400
        refused = cli("traces", "export", ended.id, "--otlp", collector.url, env=env)
    assert (sent.code, sent.err) == (0, f"Sent: 3 spans of 2 runs to {collector.url}\n")
    first, second = collector.spans[:3], collector.spans[3:5]
    assert sorted(span.name for span in first) == ["agent.run", "tool_wrapped.look", "tool_wrapped.look"]
    assert {span.id for span in second} == {span_id(ended), span_id(ended, "tool", 0)}
    assert {span.id for span in second} < {span.id for span in first}
    assert ["input.value" in span.attributes for span in (second[-1], first[-1])] == [True, False]
    assert (again.code, damaged.code, refused.code) == (0, 1, 1)
    assert "3 spans of 2 runs" in damaged.err
    assert "spans cannot be sent" in refused.err


def test_what_cannot_be_is_said_before_anything_is_asked(cli: "Cli"):
    both = cli("traces", "export", "--otlp", "http://localhost:1", "--phoenix")
    none, no_url = cli("traces", "export"), cli(*ASKED, env={"OTEL_EXPORTER_OTLP_ENDPOINT": "nowhere"})
    assert [both.code, none.code, no_url.code] == [2, 2, 2]
    assert "name one collector" in both.err
    assert "name a collector: --otlp URL, or --phoenix" in none.err
    assert "has an address like http://localhost:6006" in no_url.err


def test_where_the_extra_is_missing_a_configured_collector_is_only_warned_about(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with seen(None):
        assert observers() == ()
    assert "no spans are sent to http://127.0.0.1:9/v1/traces" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="install the extra"), seen(True):
        pass
    with seen(False):
        assert observers() == ()


def test_where_nothing_was_sent_or_by_many_runs_no_trace_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.removesuffix("/v1/traces"))
        with seen(None):
            pass
        assert capsys.readouterr().err == ""
        with seen(None, called=False):
            agent = MicroAgent(tools=[], lm=ScriptedLM([text("1."), text("2.")]), finish="text")
            for question in ("One?", "Two?"):
                agent.ask(question)
        assert capsys.readouterr().err == f"Spans: {collector.url}\n"
