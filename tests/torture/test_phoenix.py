"""The real Phoenix: a run of the coding tools sent to it as it goes, sent again, and read back through its API."""

import json
import os
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import Request, urlopen

import pytest

from micro_agent.observing import Exporter, endpoint, exporting, spans_of
from micro_agent.traces import TraceStore
from tests.observing.repairing import QUESTION, repaired
from tests.torture.programs import program

pytestmark = pytest.mark.torture

PATIENCE_S = 240.0
PROJECT = "repairs"


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of a Phoenix with nothing in it. It makes its database first, which takes half a minute."""
    serve, folder = program("phoenix"), tmp_path_factory.mktemp("phoenix")
    ports: list[str] = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports.append(str(free.getsockname()[1]))
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": ports[0], "PHOENIX_GRPC_PORT": ports[1],
        "PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([serve, "serve"], cwd=folder, env=environment, stdout=log, stderr=log)
        with process:
            try:
                url, end = f"http://127.0.0.1:{ports[0]}", monotonic() + PATIENCE_S
                while not answers(f"{url}/healthz"):
                    if monotonic() > end or process.poll() is not None:
                        pytest.fail(
                            f"Phoenix does not answer: {(folder / 'log').read_text('utf-8', 'replace')[-2000:]}"
                        )
                    sleep(0.5)
                yield url
            finally:
                process.terminate()


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def spans_in(url: str, expected: int) -> list[dict[str, Any]]:
    """What it has, once there are as many as expected: it writes them down after it has taken them."""
    end, found = monotonic() + 30, list[dict[str, Any]]()
    while monotonic() < end and len(found) < expected:
        sleep(0.5)
        if answers(asked := f"{url}/v1/projects/{PROJECT}/spans?limit=1000"):
            with urlopen(asked, timeout=30) as reply:
                found = json.load(reply)["data"]
    return found


def queried(url: str, query: str) -> Any:
    request = Request(f"{url}/graphql", json.dumps({"query": query}).encode(), {"content-type": "application/json"})
    with urlopen(request, timeout=30) as reply:
        return json.load(reply)["data"]


def test_a_run_is_read_back_as_a_tree_and_is_there_once(
    phoenix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-for-the-scripted-model")
    monkeypatch.setenv("MICRO_AGENT_FINISH", "text")
    found = endpoint(None, {"PHOENIX_COLLECTOR_ENDPOINT": phoenix, "PHOENIX_PROJECT_NAME": PROJECT})
    assert found is not None
    with exporting(found, within_s=60.0) as exporter:
        run = repaired(tmp_path)
    assert run.status == "completed", run.error
    recorded = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state").load(run.id)
    expected = {span.id: span for span in spans_of(recorded, content=True)}
    assert (exporter.sent, exporter.lost) == (len(expected), 0)
    there = spans_in(phoenix, len(expected))
    assert {span["context"]["span_id"] for span in there} == expected.keys()
    for span in there:
        ours = expected[span["context"]["span_id"]]
        assert (span["name"], span["parent_id"], span["context"]["trace_id"]) == (ours.name, ours.parent, run.id)
        assert span["span_kind"] == ours.attributes["openinference.span.kind"]
        assert span["status_code"] == ("ERROR" if ours.error else "OK" if ours.ok else "UNSET")
    kinds = {span["name"]: span["span_kind"] for span in there}
    assert kinds.items() >= {
        "agent.run": "AGENT", "model.step": "LLM", "tool_wrapped.edit_file": "TOOL", "approval.wait": "GUARDRAIL",
        "gate_check": "GUARDRAIL", "sandbox.pytest": "TOOL",
    }.items()  # fmt: skip
    assert QUESTION not in json.dumps(there)
    again = Exporter(found)
    again.send(spans_of(recorded), wait=True)
    assert again.close(60.0)
    sleep(2)
    assert len(spans_in(phoenix, len(expected))) == len(expected)
    (project,) = [
        edge["node"]
        for edge in queried(phoenix, "{projects{edges{node{name traceCount tokenCountTotal}}}}")["projects"]["edges"]
        if edge["node"]["name"] == PROJECT
    ]
    assert (project["traceCount"], project["tokenCountTotal"]) == (1, 15 * len(run.calls))
    with urlopen(found.where(run.id), timeout=30) as page:
        assert page.status == 200
