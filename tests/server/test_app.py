"""The app: what its OpenAPI says, what health and version tell, and that it can be imported without a model."""

import asyncio
import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.server.health import Backend, Folder
from micro_agent.testing import ModelServer, error, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.server.conftest import Start

METHODS = {
    ("post", "/ask"), ("post", "/ask/stream"), ("get", "/runs/{run_id}/events"),
    ("get", "/trace/{run_id}"), ("get", "/runs"), ("get", "/runs/{run_id}"), ("get", "/runs/{run_id}/view"),
    ("get", "/patches"), ("get", "/patches/{patch_id}"), ("post", "/patches/{patch_id}/apply"),
    ("post", "/patches/{patch_id}/reject"), ("post", "/patches/{patch_id}/undo"),
    ("get", "/approvals"), ("post", "/runs/{run_id}/confirm"), ("post", "/runs/{run_id}/resume"),
    ("post", "/runs/{run_id}/cancel"),
    ("get", "/healthz"), ("get", "/health"), ("get", "/version"),
}  # fmt: skip


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def test_the_openapi_has_every_route_with_words_and_examples(start: "Start") -> None:
    client = start().client
    document = client.get("/openapi.json").json()
    assert client.get("/openapi.json").json() == document
    assert (document["info"]["title"], document["info"]["version"]) == ("micro-agent", "0.1.0")
    assert {(method, path) for method, path, _ in operations(document)} == METHODS
    tags = {tag["name"] for tag in document["tags"]}
    for method, path, operation in operations(document):
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["description"], where
        assert set(operation["tags"]) <= tags, where
        for status, response in operation["responses"].items():
            assert response["description"], where
            for content in response.get("content", {}).values():
                assert "examples" in content or has_example(document, content), f"{where} {status}"
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {"example": 1})
        assert has_example(document, body), where


def has_example(document: dict[str, Any], content: dict[str, Any]) -> bool:
    name = content.get("schema", {}).get("$ref", "").removeprefix("#/components/schemas/")
    return "example" in content or "examples" in content or "examples" in document["components"]["schemas"][name]


def test_no_page_loads_scripts_from_elsewhere(start: "Start") -> None:
    client = start().client
    assert [client.get(path).status_code for path in ("/docs", "/redoc")] == [404, 404]


def test_every_error_is_json_with_a_code(start: "Start") -> None:
    client = start().client
    nothing = client.get("/no/such/path")
    assert (nothing.status_code, nothing.json()["error"]["code"]) == (404, "not_found")
    method = client.put("/runs")
    assert (method.status_code, method.headers["allow"], method.json()["error"]["code"]) == (
        405, "GET", "method_not_allowed",
    )  # fmt: skip
    assert {nothing.headers["content-type"], method.headers["content-type"]} == {"application/json"}


@pytest.mark.parametrize(
    "body",
    [b"{", b'"\xff"', b"[" * 10_000, b'{"max_steps": ' + b"9" * 5000 + b"}"],
    ids=["cut off", "not UTF-8", "deep", "digits"],
)
def test_what_is_no_json_is_a_bad_request(start: "Start", body: bytes) -> None:
    answer = start().client.post("/ask", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


def test_a_defect_shows_nothing_of_itself(start: "Start", tmp_path: Path) -> None:
    serving = start()
    serving.app.state.store = None
    answer = serving.client.get("/runs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "NoneType" not in answer.text
    assert (answer.headers["x-content-type-options"], answer.headers["cache-control"]) == ("nosniff", "no-store")


def test_health_is_well_while_questions_can_be_answered(start: "Start") -> None:
    with ModelServer() as model:
        serving = start(backend=Backend("openai", "scripted", model.openai_url))
        assert serving.client.get("/healthz").json() == {"status": "ok"}
        first = serving.client.get("/health")
        assert (first.status_code, first.json()) == (
            200,
            {
                "status": "ok", "provider": "openai", "model": "scripted", "model_server": "up",
                "traces_writable": True, "state_writable": True, "running": 0, "max_running": 8,
            },
        )  # fmt: skip
        assert model.requests == []
    assert serving.client.get("/health").json()["model_server"] == "up", "it was looked at just now"


def test_health_tells_what_is_not_well(start: "Start", tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    closed = ModelServer()
    closed.close()
    broken = TraceStore(tmp_path / "file", state_dir=tmp_path / "state")
    serving = start(traces=broken, backend=Backend("openai", "scripted", closed.url))
    answer = serving.client.get("/health")
    assert answer.status_code == 503
    assert [answer.json()[name] for name in ("status", "model_server", "traces_writable", "state_writable")] == [
        "unwell", "down", False, True,
    ]  # fmt: skip
    assert start(backend=Backend("openai", "m", "https://127.0.0.1")).client.get("/health").json()["status"] == "unwell"
    assert start().client.get("/health").json()["model_server"] is None


def test_health_tells_a_full_disk(start: "Start", monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def fsync(descriptor: int) -> None:
        synced.append(descriptor)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    serving = start()
    answers = [serving.client.get("/health") for _ in range(5)]
    assert {answer.status_code for answer in answers} == {503}
    assert [answers[0].json()[name] for name in ("status", "traces_writable", "state_writable")] == [
        "unwell", False, False,
    ]  # fmt: skip
    assert len(synced) == 2, "what was seen just now counts, whoever asks"
    assert [path.name for path in serving.store.directory.parent.glob("**/.micro-agent*")] == []


def test_a_disk_that_does_not_answer_is_not_well_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held, synced = threading.Event(), list[int]()

    def fsync(descriptor: int) -> None:
        synced.append(descriptor)
        held.wait()

    async def looked() -> list[bool]:
        folder = Folder(tmp_path, fresh_s=0.05)
        hanging = [await folder.look(), *await asyncio.gather(folder.look(), folder.look())]
        assert len(synced) == 1
        held.set()
        while not await folder.look():
            await asyncio.sleep(0.01)
        return hanging

    monkeypatch.setattr(os, "fsync", fsync)
    assert asyncio.run(looked()) == [False, False, False]


def test_a_server_that_ends_is_draining(start: "Start") -> None:
    serving = start([text("Too late.")])
    asyncio.run(serving.pool.close(0))
    answer = serving.client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "draining")
    refused = serving.client.post("/ask", json={"question": "Anybody there?"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")


def test_a_server_that_tells_of_its_start_and_end_is_answered(start: "Start") -> None:
    said: list[str] = []
    told = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        return {"type": next(told)}

    async def send(message: dict[str, str]) -> None:
        said.append(message["type"])

    asyncio.run(start().app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send))
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_the_version_is_that_of_the_package(start: "Start") -> None:
    assert start().client.get("/version").json() == {"name": "micro-agent", "version": "0.1.0"}


def test_the_app_can_be_imported_without_dspy() -> None:
    script = "import sys, micro_agent.server.app; print('dspy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_failing_model_is_no_failing_request(start: "Start") -> None:
    answer = start([error(400, "no such model")]).client.post("/ask", json={"question": "Hello?"})
    assert (answer.status_code, answer.json()["status"], answer.json()["answer"]) == (200, "failed", None)
