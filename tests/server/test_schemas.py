"""The forms of requests and responses: what is taken, what is refused, and the table of error codes in the docs."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.errors import ConfigurationError, DemosError, MicroAgentError, RunBusy
from micro_agent.run import Run, Step
from micro_agent.server.errors import CODES, code_of
from micro_agent.server.schemas import answer_of
from micro_agent.testing import call, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.server.conftest import Start

DOCS = Path(__file__).resolve().parents[2] / "docs" / "server.md"


def test_an_answer_has_everything_of_a_run_that_a_client_needs(start: "Start") -> None:
    serving = start([call("delete", {"path": "a"})])
    answer = serving.client.post("/ask", json={"question": "Tidy up.", "max_steps": 3.0, "use_tool_calls": True}).json()
    assert set(answer) == {
        "answer", "model_answer", "trace_id", "trace_path", "status", "termination_reason", "steps", "usage",
        "cost_usd", "confirmation", "error",
    }  # fmt: skip
    assert Path(answer["trace_path"]) == serving.store.path(answer["trace_id"])
    assert serving.store.load(answer["trace_id"]).limits["max_steps"] == 3
    assert answer["confirmation"]["tool"] == "delete"
    assert answer["usage"]["lm_calls"] == 1


def test_what_is_unknown_stays_unknown(store: TraceStore) -> None:
    run = Run(question="?", steps=[Step(tool="add", observation=float("nan"))])
    run.usage.cost_usd = None
    answer = answer_of(run, store)
    assert (answer.cost_usd, answer.status) == (None, "running")


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "body.question"), ({"question": ""}, "body.question"), ({"question": " \n"}, "body.question"),
        ({"question": 5}, "body.question"), ({"question": "?", "max_steps": 0}, "body.max_steps"),
        ({"question": "?", "max_steps": 10**400}, "body.max_steps"),
        ({"question": "?", "max_steps": "5"}, "body.max_steps"),
        ({"question": "?", "max_steps": 5.5}, "body.max_steps"),
        ({"question": "?", "max_steps": True}, "body.max_steps"), ({"question": "?", "steps": 5}, "body.steps"),
        ({"question": "?", "use_tool_calls": 1}, "body.use_tool_calls"),
        ({"question": "?", "on_disconnect": "wait"}, "body.on_disconnect"), ([], "body"), ("?", "body"),
    ],
)  # fmt: skip
def test_a_question_in_another_form_is_refused_and_the_fault_named(start: "Start", body: Any, at: str) -> None:
    serving = start([text("Never asked.")])
    answer = serving.client.post("/ask", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
    assert [fault["at"] for fault in answer.json()["error"]["faults"]] == [at]
    assert serving.lm.requests == []


def test_a_wrong_value_is_not_sent_back(start: "Start") -> None:
    client = start().client
    answer = client.post("/ask", json={"question": 5, **{f"unknown{n}": "canary" for n in range(500)}})
    assert "canary" not in answer.text
    assert len(answer.json()["error"]["faults"]) == 20
    surrogate = client.post(
        "/ask", content=b'{"question": "?", "\\ud800": 1}', headers={"Content-Type": "application/json"}
    )
    assert surrogate.status_code == 422
    missing = client.post("/ask")
    assert [fault["at"] for fault in missing.json()["error"]["faults"]] == ["body"]


def test_an_error_has_the_code_of_its_nearest_class() -> None:
    assert [code_of(kind("x")) for kind in (DemosError, ConfigurationError, RunBusy, MicroAgentError)] == [
        "configuration_error", "configuration_error", "run_busy", "internal_error",
    ]  # fmt: skip


def test_the_docs_list_every_code_with_its_status() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (.*) \|$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [(name, int(status), meaning) for name, status, meaning in rows] == [
        (name, code.status, code.meaning) for name, code in CODES.items()
    ]
