"""The page over HTTP: what is sent without a token, what holds it, and what it shows of a run."""

import json
import re
from typing import TYPE_CHECKING

from micro_agent.page.shell import shell
from micro_agent.server.page import POLICY
from micro_agent.testing import call, text
from tests.server.conftest import TOKEN

if TYPE_CHECKING:
    from tests.server.conftest import Start


def test_the_page_and_its_files_are_sent_without_a_token_and_hold_nothing_else(start: "Start") -> None:
    client = start(api_token=TOKEN).client
    del client.headers["Authorization"]
    page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.content == shell()
    assert page.headers["content-security-policy"] == POLICY
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "'unsafe" not in POLICY
    needed = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    names = {path.rpartition("/")[2] for path in needed}
    assert {"app.js", "page.css", "icon.svg", "preact.js"} <= names
    assert "one.js" not in names
    for path in needed:
        file = client.get(path)
        assert (file.status_code, file.headers["content-security-policy"]) == (200, POLICY), path
        assert file.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
        assert file.headers["x-content-type-options"] == "nosniff"
    assert page.headers.get_list("cache-control") == ["no-store"]
    assert not re.search(r"<script(?! type=\"module\" src=)|<style|\son\w+=|\sstyle=", page.text)
    for missing in (f"{needed[0].rpartition('/')[0]}/no.js", "/page/0/app.js", "/page/app.js"):
        answer = client.get(missing)
        assert (answer.status_code, answer.headers.get_list("cache-control")) == (404, ["no-store"])
    assert [client.get(path).status_code for path in ("/runs", "/patches", "/page", "/pages/app.js")] == [401] * 4
    assert client.get("/page/../runs").status_code == 401


def test_a_run_is_shown_while_it_waits_and_when_it_has_ended(start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    asked = serving.client.post("/ask", json={"question": "Tidy up."}).json()
    path = f"/runs/{asked['trace_id']}/view"
    shown = serving.client.get(path).json()
    assert (shown["open"], shown["busy"], shown["status"]) == (True, False, "confirmation_required")
    assert (shown["confirmation"]["call"], shown["confirmation"]["decision"]) == ('delete {"path": "a"}', None)
    assert shown["confirmation"]["sha256"] == asked["confirmation"]["sha256"]
    serving.client.post(f"/runs/{asked['trace_id']}/confirm", json={"decision": "approve"})
    for _ in range(2):  # it is read once and kept for its next part
        shown = serving.client.get(path, params={"first": 1, "count": 1, "longest": 3}).json()
        assert (shown["open"], shown["status"], shown["total"]) == (False, "completed", len(shown["items"]) + 3)
        assert shown["answer"] == {"name": "", "text": "Done.", "left": 0}
    assert serving.client.get(f"/runs/{'0' * 32}/view").json()["error"]["code"] == "run_not_found"
    assert serving.client.get(path, params={"first": -1}).status_code == 422


def test_runs_are_found_by_words_of_id_question_and_answer(start: "Start") -> None:
    serving = start([text("It is a blue whale."), text("A wren."), text("A whale, again.")])
    ids = [serving.client.post("/ask", json={"question": q}).json()["trace_id"] for q in ("Largest?", "Small?", "And?")]

    def found(q: str, **more: object) -> list[str]:
        return [run["id"] for run in serving.client.get("/runs", params={"q": q, **more}).json()["runs"]]  # pyright: ignore[reportArgumentType]

    assert found("WHALE") == [ids[2], ids[0]]
    assert found("whale largest") == [ids[0]]
    assert found(ids[1]) == [ids[1]]
    assert found("whale", status="failed") == []
    assert found(" ") == ids[::-1]
    first = serving.client.get("/runs", params={"q": "whale", "limit": 1}).json()
    assert [run["id"] for run in first["runs"]] == [ids[2]]
    assert found("whale", cursor=first["next"]) == [ids[0]]


def test_of_very_many_runs_a_page_of_a_search_looks_at_some(start: "Start") -> None:
    from micro_agent.server.records import page

    serving = start([text("One."), text("Two."), text("Three.")])
    for question in ("a", "b", "c"):
        serving.client.post("/ask", json={"question": question})
    first = page(serving.store, limit=5, cursor=None, status=None, words=["one"], most=2)
    assert (first.runs, first.next is None) == ([], False)
    second = page(serving.store, limit=5, cursor=first.next, status=None, words=["one"], most=2)
    assert ([run.answer for run in second.runs], second.next) == (["One."], None)


def test_arguments_of_any_size_of_number_can_be_edited(start: "Start") -> None:
    serving = start([call("delete", {"path": "12345678901234567890123"}), text("Done.")])
    asked = serving.client.post("/ask", json={"question": "Tidy up."}).json()
    shown = serving.client.get(f"/runs/{asked['trace_id']}/view").json()
    assert json.loads(shown["confirmation"]["args"]) == asked["confirmation"]["args"]
