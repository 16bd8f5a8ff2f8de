"""Confirming over HTTP: what is asked is shown, one decision counts, and the run goes on in the server."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Tool
from micro_agent.run.questions import digest_of
from micro_agent.testing import call, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.server.conftest import Serving, Start


def paused(serving: "Serving") -> dict[str, Any]:
    answer = serving.client.post("/ask", json={"question": "Tidy up."}).json()
    assert answer["status"] == "confirmation_required"
    return answer


def confirm(serving: "Serving", run_id: str, **said: Any) -> tuple[int, Any]:
    answer = serving.client.post(f"/runs/{run_id}/confirm", json={"decision": "approve"} | said)
    return answer.status_code, answer.json()


def test_what_waits_is_listed_and_confirmed(start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), call("delete", {"path": "b"}), text("Done.")])
    first = paused(serving)
    (asked,) = serving.client.get("/approvals").json()["approvals"]
    assert asked["since"] > "2026"
    assert {**asked, "since": ""} == {
        "run_id": first["trace_id"], "question": "Tidy up.", "tool": "delete", "args": {"path": "a"}, "kind": "tool",
        "id": None, "shown": None, "edited": None, "fault": None, "expires": first["confirmation"]["expires"],
        "ungrounded": [], "reason": first["confirmation"]["reason"], "sha256": first["confirmation"]["sha256"],
        "since": "", "busy": False,
    }  # fmt: skip
    status, second = confirm(serving, first["trace_id"], sha256=asked["sha256"])
    assert (status, second["status"], second["confirmation"]["args"]) == (200, "confirmation_required", {"path": "b"})
    assert serving.deleted == ["a"]
    status, done = confirm(serving, first["trace_id"], decision="reject", feedback="b is needed")
    assert (status, done["status"], done["answer"], serving.deleted) == (200, "completed", "Done.", ["a"])
    assert done["steps"][-1]["observation"]["feedback"] == "b is needed"
    assert serving.client.get("/approvals").json() == {"approvals": []}


def test_what_is_edited_is_asked_about_once_more(start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    first = paused(serving)
    status, refused = confirm(serving, first["trace_id"], decision="reject", args={"path": "b"})
    assert (status, refused["error"]["code"]) == (422, "invalid_request")
    assert confirm(serving, first["trace_id"], args=["b"])[0] == 422
    status, wrong = confirm(serving, first["trace_id"], args={"name": "b"}, sha256=first["confirmation"]["sha256"])
    assert (status, wrong["status"], wrong["confirmation"]["args"]) == (200, "confirmation_required", {"path": "a"})
    assert "path" in wrong["confirmation"]["fault"]
    (asked,) = serving.client.get("/approvals").json()["approvals"]
    assert (asked["fault"], asked["edited"]) == (wrong["confirmation"]["fault"], None)
    status, edited = confirm(serving, first["trace_id"], args={"path": "b"}, sha256=asked["sha256"])
    assert (status, edited["confirmation"]["args"], serving.deleted) == (200, {"path": "b"}, [])
    (asked,) = serving.client.get("/approvals").json()["approvals"]
    assert (asked["args"], asked["edited"], asked["fault"]) == ({"path": "b"}, {"path": "a"}, None)
    assert confirm(serving, first["trace_id"], sha256=first["confirmation"]["sha256"])[0] == 409
    status, done = confirm(serving, first["trace_id"], sha256=asked["sha256"])
    assert (status, done["status"], serving.deleted) == (200, "completed", ["b"])
    assert [step["edited"] for step in done["steps"] if step["tool"] == "delete"] == [{"path": "a"}]


def test_a_preview_is_listed(start: "Start") -> None:
    shown = {"kind": "command", "id": "cmd_0123456789", "text": "rm -rf x", "cwd": "/"}
    schema = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
    tool = Tool("run", "Run.", schema, str, requires_confirmation=True, preview=lambda args: shown)  # pyright: ignore[reportUnknownLambdaType]
    serving = start([call("run", {"cmd": "rm"}), text("Done.")], tools=[tool])
    first = paused(serving)
    (asked,) = serving.client.get("/approvals").json()["approvals"]
    assert (asked["kind"], asked["id"], asked["shown"]) == ("command", "cmd_0123456789", shown)
    assert first["confirmation"]["shown"] == shown


def test_an_expired_question_is_asked_anew(start: "Start", store: TraceStore) -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    first = paused(serving)
    (journal,) = (store.state_dir / "runs").glob("*.journal")
    lines = journal.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if '"asked"' in line)
    line = json.loads(lines[at])
    line["confirmation"]["expires"] = "2026-01-01T00:00:00.000Z"  # as on the next day
    line["confirmation"]["sha256"] = digest_of(line["confirmation"])
    lines[at] = json.dumps(line)
    journal.write_text("\n".join(lines) + "\n")
    status, late = confirm(serving, first["trace_id"])
    assert (status, late["error"]["code"]) == (409, "approval_expired")
    again = serving.client.post(f"/runs/{first['trace_id']}/resume").json()
    assert (again["status"], serving.deleted) == ("confirmation_required", [])
    assert confirm(serving, first["trace_id"], sha256=again["confirmation"]["sha256"])[1]["answer"] == "Done."
    assert serving.deleted == ["a"]


def test_arguments_that_stand_nowhere_are_marked(start: "Start") -> None:
    serving = start([call("delete", {"path": "archive"}), text("Done.")])
    first = paused(serving)
    assert first["confirmation"]["ungrounded"] == ["path"]
    (asked,) = serving.client.get("/approvals").json()["approvals"]
    assert (asked["args"], asked["ungrounded"]) == ({"path": "archive"}, ["path"])
    status, done = confirm(serving, first["trace_id"], sha256=asked["sha256"])
    assert (status, done["status"], serving.deleted) == (200, "completed", ["archive"])


def test_of_two_that_decide_at_once_one_counts(start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    run_id = paused(serving)["trace_id"]
    both = threading.Barrier(2)

    def click(decision: str) -> tuple[int, Any]:
        both.wait()
        return confirm(serving, run_id, decision=decision)

    with ThreadPoolExecutor(2) as threads:
        answers = sorted(threads.map(click, ["approve", "approve"]), key=lambda answer: answer[0])
    assert [status for status, _ in answers] == [200, 409]
    assert answers[0][1]["answer"] == "Done."
    assert answers[1][1]["error"]["code"] in ("already_decided", "not_waiting")
    assert serving.deleted == ["a"]


def test_a_decision_about_another_question_changes_nothing(start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), call("delete", {"path": "b"}), text("Done.")])
    first = paused(serving)
    seen = first["confirmation"]["sha256"]
    assert confirm(serving, first["trace_id"], sha256=seen)[0] == 200
    status, late = confirm(serving, first["trace_id"], sha256=seen)  # a second click, after the run has asked again
    assert (status, late["error"]["code"]) == (409, "not_waiting")
    assert "asks something else" in late["error"]["message"]
    assert serving.deleted == ["a"]


def test_there_has_to_be_a_question(start: "Start") -> None:
    serving = start([text("Hello.")])
    ended = serving.client.post("/ask", json={"question": "Hello?"}).json()["trace_id"]
    for run_id, expected in ((ended, (409, "not_waiting")), ("0" * 32, (404, "run_not_found"))):
        status, answer = confirm(serving, run_id)
        assert (status, answer["error"]["code"]) == expected


@pytest.mark.parametrize(
    "said",
    [
        {}, {"decision": "yes"}, {"decision": True}, {"decision": "approve", "feedback": 1},
        {"decision": "approve", "sha256": "x"}, {"decision": "approve", "x" * 100_000: 1}, [], None,
    ],
)  # fmt: skip
def test_a_word_that_is_none_decides_nothing(start: "Start", said: Any) -> None:
    serving = start([call("delete", {"path": "a"})])
    run_id = paused(serving)["trace_id"]
    answer = serving.client.post(f"/runs/{run_id}/confirm", json=said)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
    assert len(answer.content) < 2000
    assert len(serving.client.get("/approvals").json()["approvals"]) == 1


def test_a_full_server_takes_no_decision(start: "Start") -> None:
    here, go = threading.Event(), threading.Event()

    def wait(path: str) -> str:
        here.set()
        go.wait(30)
        return path

    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = Tool("wait", "Wait.", schema, wait)
    script = [call("delete", {"path": "a"}), call("wait", {"path": "x"}), text("Waited."), text("Done.")]
    serving = start(script, tools=[tool], max_running=1)
    run_id = paused(serving)["trace_id"]
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(serving.client.post, "/ask", json={"question": "Wait."})
        assert here.wait(30)
        full = serving.client.post(f"/runs/{run_id}/confirm", json={"decision": "approve"})
        assert (full.status_code, full.json()["error"]["code"]) == (429, "too_many_runs")
        assert int(full.headers["retry-after"]) >= 1
        go.set()
        assert other.result().json()["answer"] == "Waited."
    assert confirm(serving, run_id)[1]["answer"] == "Done."


def test_a_run_that_another_process_holds_goes_on_there(start: "Start", store: TraceStore) -> None:
    serving = start([call("delete", {"path": "a"})])
    run_id = paused(serving)["trace_id"]
    elsewhere = store.resume(run_id)  # as a terminal that asks its user would hold it
    try:
        answer = serving.client.get(f"/runs/{run_id}").json()
        assert (answer["busy"], answer["status"]) == (True, "confirmation_required")
        status, state = confirm(serving, run_id, decision="reject", feedback="no")
        assert (status, state["decision"], state["busy"]) == (202, "reject", True)
        theirs = elsewhere.decision(answer["confirmation"])
        assert theirs is not None
        assert (theirs.decision, theirs.feedback) == ("reject", "no")
        busy = serving.client.post(f"/runs/{run_id}/resume")
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "run_busy")
    finally:
        elsewhere.close()


def test_a_run_that_goes_on_is_followed_from_its_beginning_and_holds_nobody_up(start: "Start") -> None:
    here, go = threading.Event(), threading.Event()

    def wait() -> str:
        here.set()
        go.wait(30)
        return "waited"

    slow = Tool("wait", "Wait.", {"type": "object"}, wait, requires_confirmation=True)
    serving = start([call("wait", {}), text("Done.")], tools=[slow])
    run_id = paused(serving)["trace_id"]
    with ThreadPoolExecutor(2) as threads:
        deciding = threads.submit(confirm, serving, run_id)
        assert here.wait(30)
        following = threads.submit(serving.client.get, f"/runs/{run_id}/events")
        for _ in range(20):
            assert serving.client.get("/health").status_code == 200
        go.set()
        told = [line for line in following.result().text.splitlines() if line.startswith("event: ")]
        assert told == ["event: started", "event: step", "event: step", "event: text", "event: ended"]
        assert deciding.result()[1]["answer"] == "Done."


def test_a_run_that_is_under_way_can_be_cancelled(start: "Start") -> None:
    here, go = threading.Event(), threading.Event()

    def wait() -> str:
        here.set()
        go.wait(30)
        return "waited"

    serving = start([call("wait", {})], tools=[Tool("wait", "Wait.", {"type": "object"}, wait)])
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(serving.client.post, "/ask", json={"question": "Wait."})
        assert here.wait(30)
        (running,) = serving.client.get("/runs", params={"status": "running"}).json()["runs"]
        assert (running["busy"], running["open"]) == (True, True)
        ended = serving.client.post(f"/runs/{running['id']}/cancel")
        assert (ended.status_code, ended.json()["status"]) == (200, "stopped")
        assert ended.json()["termination_reason"] == "cancelled"
        assert asked.result().json()["termination_reason"] == "cancelled"
        go.set()
    again = serving.client.post(f"/runs/{running['id']}/cancel")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "not_under_way")
    assert "its status is stopped" in again.json()["error"]["message"]
    assert serving.client.post(f"/runs/{'0' * 32}/cancel").status_code == 404


def test_a_question_that_was_edited_is_neither_shown_nor_decided(start: "Start", store: TraceStore) -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    first = paused(serving)
    run_id, seen = first["trace_id"], first["confirmation"]["sha256"]
    (journal,) = (store.state_dir / "runs").glob("*.journal")
    asked = journal.read_text()
    for path in (journal, store.path(run_id)):
        path.write_text(path.read_text().replace('"args":{"path":"a"},"reason"', '"args":{"path":"no"},"reason"'))
    status, refused = confirm(serving, run_id, sha256=seen)
    assert (status, refused["error"]["code"]) == (500, "storage_error")
    assert "asks something else than was asked" in refused["error"]["message"]
    assert serving.client.get("/approvals").json() == {"approvals": []}
    assert serving.client.get(f"/runs/{run_id}").status_code == 500
    (listed,) = serving.client.get("/runs").json()["runs"]
    assert "asks something else" in listed["damage"]
    shown = serving.client.get(f"/trace/{run_id}").json()["confirmation"]
    assert (shown["args"], shown["sha256"]) == ({"path": "no"}, None)
    assert serving.deleted == []
    journal.write_text(asked)
    assert confirm(serving, run_id, sha256=seen)[1]["answer"] == "Done."
    assert serving.deleted == ["a"]
