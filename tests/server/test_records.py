"""What is on record, over HTTP: traces, the list of runs, one run; secrets masked, damage named, no way out."""

import os
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.testing import call, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.server.conftest import Serving, Start

SECRET = "sk-9f8e7d6c5b4a3210"


def ask(serving: "Serving", question: str = "Hello?") -> dict[str, Any]:
    answer = serving.client.post("/ask", json={"question": question})
    assert answer.status_code == 200
    return answer.json()


def listed(serving: "Serving", **query: Any) -> list[str]:
    return [run["question"] for run in serving.client.get("/runs", params=query).json()["runs"]]


def test_a_trace_is_the_record(start: "Start", store: TraceStore) -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    run_id = ask(serving)["trace_id"]
    serving.client.post(f"/runs/{run_id}/confirm", json={"decision": "approve"})
    latest = serving.client.get(f"/trace/{run_id}")
    assert latest.json() == store.load(run_id).model_dump(mode="json")
    statuses = [
        serving.client.get(f"/trace/{run_id}", params={"index": index}).json()["status"] for index in (0, 1, -2)
    ]
    assert statuses == ["confirmation_required", "completed", "confirmation_required"]
    none = serving.client.get(f"/trace/{run_id}", params={"index": 2})
    assert (none.status_code, none.json()["error"]["code"]) == (404, "run_not_found")


def test_secrets_are_masked_wherever_they_would_show(start: "Start", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    serving = start([call("delete", {"path": SECRET}), text(f"It was {SECRET}.")])
    paused = serving.client.post("/ask", json={"question": f"Delete {SECRET}."})
    run_id = paused.json()["trace_id"]
    pages = [paused, *(serving.client.get(path) for path in (f"/runs/{run_id}", "/runs", "/approvals"))]
    pages.append(serving.client.post(f"/runs/{run_id}/confirm", json={"decision": "approve"}))
    pages += [serving.client.get(path) for path in (f"/trace/{run_id}", f"/runs/{run_id}", "/runs")]
    for page in pages:
        assert page.status_code == 200
        assert SECRET not in page.text
        assert "[env:SOME_API_KEY]" in page.text
    assert serving.deleted == [SECRET]


def test_text_that_is_no_utf8_is_escaped(start: "Start") -> None:
    name = "half a pair: \ud83d"
    serving = start([call("delete", {"path": name})])
    answer = ask(serving)
    assert answer["confirmation"]["args"] == {"path": name}
    assert serving.client.get("/approvals").json()["approvals"][0]["args"] == {"path": name}


NO_IDS = [
    "../secret", "..%2fsecret", "%2e%2e%2fsecret", "..%5csecret", "%2fetc%2fpasswd", "secret", "0" * 31, "0" * 33,
    "A" * 32, "0" * 31 + "%0a", "0" * 32 + "%00", "0" * 32 + ".jsonl", "x" * 10_000, "CON", "%ff",
    "\u0660" * 32, "\uff0e\uff0e\uff0fsecret", "0" * 32 + "%0a",
]  # fmt: skip


def test_an_id_leads_to_nothing_but_a_run(start: "Start", store: TraceStore) -> None:
    serving = start()
    store.directory.mkdir()
    (store.directory.parent / "secret.jsonl").write_text('{"question": "hidden"}')
    (store.directory / "secret.jsonl").write_text('{"question": "hidden"}')
    before = sorted(store.directory.parent.rglob("*"))
    routes = (
        ("GET", "/trace/{}"), ("GET", "/runs/{}"), ("POST", "/runs/{}/confirm"), ("POST", "/runs/{}/cancel"),
        ("POST", "/runs/{}/resume"), ("GET", "/runs/{}/events"),
    )  # fmt: skip
    for run_id, (method, path) in product(NO_IDS, routes):
        body = {"decision": "approve"} if path.endswith("confirm") else None
        answer = serving.client.request(method, path.format(run_id), json=body)
        assert answer.status_code in (404, 422), (run_id, path)
        assert "hidden" not in answer.text
    assert sorted(store.directory.parent.rglob("*")) == before


def test_an_unknown_run_is_not_found(start: "Start") -> None:
    client = start().client
    for path in ("/trace/", "/runs/"):
        answer = client.get(path + "0" * 32)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "run_not_found")


def test_runs_come_newest_first_page_by_page(start: "Start") -> None:
    serving = start([text("Fine.")], tools=[])
    assert serving.client.get("/runs").json() == {"runs": [], "next": None}
    serving = start([text("Fine.")] * 5)
    questions = [f"Number {number}?" for number in range(5)]
    for place, question in enumerate(questions):
        trace = serving.store.path(ask(serving, question)["trace_id"])
        os.utime(trace, (place, place))
    assert listed(serving) == questions[::-1]
    cursor, pages = None, list[list[str]]()
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = serving.client.get("/runs", params=query).json()
        pages.append([run["question"] for run in page["runs"]])
        cursor = page["next"]
        if cursor is None:
            break
    assert pages == [questions[:2:-1], questions[2:0:-1], questions[:1]]


def test_runs_are_filtered_by_status(start: "Start", store: TraceStore) -> None:
    serving = start([text("Fine."), call("delete", {"path": "a"})])
    done, paused = ask(serving, "Fine?"), ask(serving, "Tidy up.")
    failed = ask(serving, "One too many?")
    store.path("f" * 32).write_text("no record\n")
    assert listed(serving, status="completed") == ["Fine?"]
    assert listed(serving, status="confirmation_required") == ["Tidy up."]
    assert listed(serving, status="failed") == ["One too many?"]
    assert listed(serving, status="stopped") == []
    (unreadable,) = serving.client.get("/runs", params={"status": "unreadable"}).json()["runs"]
    assert (unreadable["id"], unreadable["open"], unreadable["question"]) == ("f" * 32, False, None)
    assert unreadable["damage"].startswith("line 1: ")
    runs = {run["id"]: run for run in serving.client.get("/runs").json()["runs"]}
    assert runs[done["trace_id"]] | {"ts": "", "id": ""} == {
        "id": "", "ts": "", "question": "Fine?", "status": "completed", "termination_reason": "final",
        "answer": "Fine.", "open": False, "busy": False, "damage": None,
    }  # fmt: skip
    assert [runs[paused["trace_id"]][name] for name in ("open", "busy")] == [True, False]
    assert runs[failed["trace_id"]]["answer"] is None


def test_a_damaged_trace_or_journal_is_told_of(start: "Start", store: TraceStore) -> None:
    serving = start([text("Fine."), call("delete", {"path": "a"})])
    ended, paused = ask(serving)["trace_id"], ask(serving, "Tidy up.")["trace_id"]
    with store.path(ended).open("a") as file:
        file.write('{"torn')
    journal = store.state_dir / "runs" / f"{paused}.journal"
    journal.write_bytes(b"no event\n")
    store.path("e" * 32).write_text("")
    runs = {run["id"]: run for run in serving.client.get("/runs").json()["runs"]}
    assert (runs[ended]["status"], runs[ended]["damage"][:7]) == ("completed", "line 2:")
    assert runs[paused]["status"] is None
    assert "no event starts a run" in runs[paused]["damage"]
    for path in (f"/runs/{paused}", f"/runs/{'e' * 32}", f"/trace/{'e' * 32}"):
        answer = serving.client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "storage_error")
    assert serving.client.get(f"/runs/{ended}").json()["answer"] == "Fine."


def test_a_run_is_shown_open_and_ended(start: "Start", store: TraceStore) -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    run_id = ask(serving, "Tidy up.")["trace_id"]
    paused = serving.client.get(f"/runs/{run_id}").json()
    assert [paused[name] for name in ("status", "open", "busy", "decision", "damage", "question")] == [
        "confirmation_required", True, False, None, None, "Tidy up.",
    ]  # fmt: skip
    assert (paused["confirmation"]["tool"], paused["confirmation"]["args"]) == ("delete", {"path": "a"})
    store.decide(run_id, "approve")
    assert serving.client.get(f"/runs/{run_id}").json()["decision"] == "approve"
    assert serving.client.post(f"/runs/{run_id}/resume").json()["answer"] == "Done."
    ended = serving.client.get(f"/runs/{run_id}").json()
    assert [ended[name] for name in ("status", "open", "answer", "confirmation")] == ["completed", False, "Done.", None]


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "cursor=x", "cursor=1-..", "status=none"])
def test_a_wrong_query_is_told_without_its_value(start: "Start", query: str) -> None:
    answer = start().client.get(f"/runs?{query}")
    (fault,) = answer.json()["error"]["faults"]
    assert (answer.status_code, fault["at"]) == (422, "query." + query.partition("=")[0])


def test_a_folder_that_cannot_be_read_is_a_storage_error(start: "Start", store: TraceStore) -> None:
    store.directory.touch()
    answer = start().client.get("/runs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "storage_error")


def test_a_list_that_was_read_before_shows_what_was_written_since(start: "Start") -> None:
    serving = start([text("One."), text("Two.")])
    ids = [serving.client.post("/ask", json={"question": q}).json()["trace_id"] for q in ("a", "b")]

    def answers() -> dict[str, tuple[str, str]]:
        return {run["id"]: (run["answer"], run["damage"]) for run in serving.client.get("/runs").json()["runs"]}

    assert answers() == {ids[0]: ("One.", None), ids[1]: ("Two.", None)}
    with serving.store.path(ids[0]).open("a") as file:
        file.write("{\n")
    serving.store.path(ids[1]).unlink()
    answer, damage = answers()[ids[0]]
    assert (answer, damage.startswith("line 2: ")) == ("One.", True)
    assert answers().keys() == {ids[0]}
