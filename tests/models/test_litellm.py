"""The LiteLLM provider against a server on loopback; one child process (`play_litellm.py`) plays all of it."""

import json
import os
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from micro_agent.testing import ModelServer, call, error, text
from tests.warm import Warm

PLAY = Path(__file__).with_name("play_litellm.py")
SCRIPT = [
    text("hello"), text("hello again"), text("in one piece"), call("add", {"a": 1}), text("streamed"),
    text("streamed again"), error(401, "Incorrect API key provided", code="invalid_api_key"), error(429, "slow down"),
]  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> dict[str, Any]:
    """What the child saw; under ``chats`` what the server did. Workers of one test run share it: it takes seconds."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)
    shared = tmp_path_factory.getbasetemp().parent / f"litellm-{run}.json"
    with shared.open("a+", encoding="utf-8") as file:
        flock(file, LOCK_EX)
        file.seek(0)
        if (told := file.read()) == "":
            told = json.dumps(play(warm))
            file.write(told)
    return json.loads(told)


def play(warm: Warm) -> dict[str, Any]:
    with ModelServer(SCRIPT) as server:
        done = warm.run(PLAY, server.openai_url, timeout=300)
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout), "chats": [(chat.body or {}, dict(chat.headers)) for chat in server.chats]}


def test_litellm_is_imported_at_the_first_call_only(played: dict[str, Any]) -> None:
    assert played["before"] is False


def test_a_reply_comes_back_sync_async_and_streamed(played: dict[str, Any]) -> None:
    assert played["text"] == ["hello"]
    assert played["async"] == ["hello again"]
    assert played["call"] == [["add", {"a": 1}]]
    for events in (played["stream"], played["astream"]):
        assert (events[0], events[-1]) == ("start", "end")


def test_text_is_shown_when_it_is_complete(played: dict[str, Any]) -> None:
    assert played["shown"] == ["in one piece", ["in one piece"]]


def test_settings_and_key_reach_the_server_and_nothing_is_retried(played: dict[str, Any]) -> None:
    body, headers = played["chats"][0]
    assert (body["model"], body["temperature"], body["seed"]) == ("gpt-4o-mini", 0.2, 3)
    assert headers["authorization"] == "Bearer the-key"
    assert len(played["chats"]) == len(SCRIPT)


def test_errors_are_those_of_dspy(played: dict[str, Any]) -> None:
    assert (played["401"], played["429"]) == ("LMAuthError 401", "LMRateLimitError 429")
    assert played["too late"] == "LMTimeoutError None"


def test_the_mode_is_native_where_litellm_knows_that_the_model_calls_functions(played: dict[str, Any]) -> None:
    assert (played["known"], played["unknown"], played["named"]) == ("native", "json", ["native", "json"])


def test_litellm_loads_no_dotenv_file(played: dict[str, Any]) -> None:
    assert played["mode"] == os.environ.get("LITELLM_MODE", "PRODUCTION")
