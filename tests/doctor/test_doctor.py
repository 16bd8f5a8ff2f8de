"""The doctor against servers that are well, slow, empty, odd and dead, on both wires."""

import json
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from micro_agent.doctor import Check, examine
from micro_agent.doctor.folders import folder
from micro_agent.doctor.server import listed_model, ollama_context
from micro_agent.models.settings import Settings
from micro_agent.models.target import Target
from micro_agent.testing import ModelServer, Received, Reply, call, error, hang, raw, text

SCHEMA_REPLY = text('{"word": "pineapple"}', usage=(12, 6))
CALLED = call("say_word", {"word": "pineapple"}, usage=(40, 9))
COUNTED = text("One, two, three.", usage=(11, 50))


def good(request: Received) -> Reply:
    """A model that does what it is asked, on either wire."""
    body = request.body or {}
    if body.get("tools"):
        return CALLED
    return SCHEMA_REPLY if body.get("format") or body.get("response_format") else COUNTED


def settings(tmp_path: Path, **known: Any) -> Settings:
    return Settings(traces_dir=tmp_path / "traces", micro_agent_state_dir=tmp_path / "state", **known)


def looked(asked: Target, found: Settings, **options: Any) -> dict[str, Check]:
    checks = list(examine(asked, found, **options))
    assert [check.name for check in checks] == [
        "provider", "model", "context", "tools", "schema", "speed", "price", "traces", "state",
    ]  # fmt: skip
    for check in checks:
        assert check.told, check
        assert (check.advice is None) == (check.state in ("ok", "skip")), check
    return {check.name: check for check in checks}


def states(checks: dict[str, Check]) -> dict[str, str]:
    return {name: check.state for name, check in checks.items()}


@pytest.mark.parametrize(("lengths", "state"), [((8192, 8192), "ok"), ((8192, 4096), "fail"), ((8192,), "warn")])
def test_several_servers_are_compared_and_the_first_is_looked_at(
    lengths: tuple[int, ...], state: str, tmp_path: Path
):  # fmt: skip
    with ExitStack() as open_:
        servers = [open_.enter_context(ModelServer(good, context_length=length)) for length in lengths]
        first, *others = [*(server.url for server in servers), "http://127.0.0.1:9"][:2]
        checks = list(examine(Target("ollama", "scripted", first, others=tuple(others)), settings(tmp_path)))
        assert [(check.name, check.state) for check in checks[2:4]] == [("servers", state), ("context", "ok")]
        assert others[0] in checks[2].told
        assert len(servers[0].chats) == 3


def test_a_good_ollama_is_well_in_every_respect(tmp_path: Path):
    with ModelServer(good, context_length=8192) as server:
        checks = looked(Target("ollama", "scripted", server.url), settings(tmp_path))
    assert set(states(checks).values()) == {"ok"}
    assert checks["context"].data == {"num_ctx": 8192, "context_length": 8192}
    assert checks["tools"].data == {"native": True}
    assert checks["schema"].data == {"constrained": True}
    assert checks["speed"].data["tokens_per_s"] == 50_000  # 50 tokens in the server's own 1 ms
    assert not list(tmp_path.rglob("*")), "nothing is left behind"


def test_a_good_compatible_server_lacks_only_a_price(tmp_path: Path):
    with ModelServer(good) as server:
        found = settings(tmp_path, context_length=8192)
        checks = looked(Target("openai", "scripted", server.openai_url, "sk-none"), found)
    assert {name for name, check in checks.items() if check.state != "ok"} == {"price"}
    assert "OPENAI_INPUT_PRICE_PER_1K" in str(checks["price"].advice)


def test_three_tiny_calls_are_made_and_no_more(tmp_path: Path):
    with ModelServer(good) as server:
        looked(Target("ollama", "scripted", server.url), settings(tmp_path))
        assert len(server.chats) == 3
        assert all(len(json.dumps(chat.messages)) < 200 for chat in server.chats)


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_of_a_dead_server_it_says_how_to_start_it_and_still_looks_at_the_folders(provider: Any, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    checks = list(examine(Target(provider, "m", f"http://127.0.0.1:{port}"), settings(tmp_path)))
    first = checks[0]
    assert (first.name, first.state) == ("provider", "fail")
    assert "refused" in first.told.lower()
    assert "start" in str(first.advice)
    assert [check.state for check in checks[1:]] == ["skip"] * 6 + ["ok", "ok"]


def test_an_ollama_without_the_model_says_what_to_pull(tmp_path: Path):
    with ModelServer(good) as server:
        found = settings(tmp_path)
        checks = {check.name: check for check in examine(Target("ollama", "qwen3:4b", server.url), found)}
    assert states(checks)["provider"] == "ok"
    assert checks["model"].state == "fail"
    assert "ollama pull qwen3:4b" in str(checks["model"].advice)
    assert checks["tools"].state == "skip"


def test_an_ollama_without_any_model_says_how_to_get_one(tmp_path: Path):
    with ModelServer(good, models=()) as server:
        checks = {check.name: check for check in examine(Target("ollama", None, server.url), settings(tmp_path))}
    assert checks["model"].state == "fail"
    assert "ollama pull" in str(checks["model"].advice)


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_server_that_does_not_answer_in_time_fails_with_the_first_call_and_is_not_asked_again(
    provider: Any, tmp_path: Path
):
    with ModelServer([hang(30)], repeat=True) as server:
        url = server.url if provider == "ollama" else server.openai_url
        found = settings(tmp_path, context_length=8192)
        checks = looked(Target(provider, "scripted", url, "k"), found, timeout_s=0.3)
        assert len(server.chats) == 1
    assert (states(checks)["tools"], states(checks)["schema"], states(checks)["speed"]) == ("fail", "skip", "skip")
    assert "--timeout" in str(checks["tools"].advice)


def test_a_model_that_says_nothing_is_told_apart_from_a_server_that_fails(tmp_path: Path):
    with ModelServer([text("", usage=None)], repeat=True) as server:
        checks = looked(Target("openai", "scripted", server.openai_url, "k"), settings(tmp_path, context_length=8192))
    assert "the model said 'nothing'" in checks["tools"].told
    assert checks["tools"].state == "warn"
    assert checks["schema"].state == "ok", "in native mode nothing need be constrained"
    assert checks["speed"].state == "warn"
    assert checks["speed"].data == {"tokens_per_s": None}


def test_a_call_left_in_the_text_is_seen_and_json_mode_advised(tmp_path: Path):
    said = text('<tool_call>{"name": "say_word", "arguments": {"word": "pineapple"}}</tool_call>')
    with ModelServer([said, SCHEMA_REPLY, COUNTED]) as server:
        checks = looked(Target("openai", "scripted", server.openai_url, "k"), settings(tmp_path, context_length=8192))
    assert checks["tools"].state == "warn"
    assert "--mode json" in str(checks["tools"].advice)
    assert checks["tools"].data == {"native": False}


def test_a_wrong_argument_is_told(tmp_path: Path):
    with ModelServer([call("say_word", {"word": "apple"}), SCHEMA_REPLY, COUNTED]) as server:
        checks = looked(Target("openai", "scripted", server.openai_url, "k"), settings(tmp_path, context_length=8192))
    assert checks["tools"].state == "warn"
    assert "other arguments" in checks["tools"].told


def test_servers_that_refuse_tools_and_schemas_are_well_enough(tmp_path: Path):
    def refusing(request: Received) -> Reply:
        body = request.body or {}
        if body.get("tools"):
            return error(400, "registry.ollama.ai/library/m does not support tools")
        if body.get("format"):
            return error(400, "invalid JSON schema in format")
        return COUNTED

    with ModelServer(refusing) as server:
        asked = Target("ollama", "scripted", server.url)
        assert states(looked(asked, settings(tmp_path)))["tools"] == "ok"
        native = looked(asked, settings(tmp_path), mode="native")
        assert states(native)["tools"] == "warn"
        assert states(native)["schema"] == "ok"
        assert states(looked(asked, settings(tmp_path)))["schema"] == "warn"


def test_a_server_that_takes_a_schema_and_ignores_it_is_found_out(tmp_path: Path):
    with ModelServer([CALLED, text("Hello there!"), COUNTED]) as server:
        checks = looked(Target("ollama", "scripted", server.url), settings(tmp_path))
    assert checks["schema"].state == "warn"
    assert checks["schema"].data == {"constrained": False}


def test_a_slow_model_is_called_slow(tmp_path: Path):
    slow = {"message": {"content": "One."}, "done": True, "eval_count": 20, "eval_duration": 10_000_000_000}
    with ModelServer([CALLED, SCHEMA_REPLY, raw(slow)]) as server:
        checks = looked(Target("ollama", "scripted", server.url), settings(tmp_path))
    assert checks["speed"].state == "warn"
    assert checks["speed"].data["tokens_per_s"] == 2.0


@pytest.mark.parametrize(("rate", "told"), [(2.0, 2.0), ("fast", None), (0, None)])
def test_llama_cpp_tells_the_speed_itself(rate: Any, told: float | None, tmp_path: Path):
    timed = {
        "choices": [{"message": {"content": "One."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 50},
        "timings": {"predicted_n": 50, "predicted_per_second": rate},
    }
    with ModelServer([CALLED, SCHEMA_REPLY, raw(timed)]) as server:
        checks = looked(Target("openai", "m", server.openai_url, "k"), settings(tmp_path, context_length=8192))
    measured = checks["speed"].data["tokens_per_s"]
    assert measured == told if told is not None else measured > 2.0


@pytest.mark.parametrize(
    ("num_ctx", "length", "state", "word"),
    [(8192, 4096, "warn", "4096 or less"), (2048, 32768, "warn", "8192"), (8192, 32768, "ok", "32768")],
)
def test_the_context_that_is_asked_for_is_held_against_the_model_s(
    num_ctx: int, length: int, state: str, word: str, tmp_path: Path
):
    with ModelServer(good, context_length=length) as server:
        checks = looked(Target("ollama", "scripted", server.url), settings(tmp_path, ollama_num_ctx=num_ctx))
    assert checks["context"].state == state
    assert word in f"{checks['context'].told} {checks['context'].advice}"


@contextmanager
def answering(status: int) -> Generator[str]:
    """The address of a server that has this answer for everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"{}")

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_key_that_is_refused_ends_the_examination_of_the_model(tmp_path: Path):
    with answering(401) as url:
        checks = looked(Target("openai", "m", url, "k"), settings(tmp_path), timeout_s=2)
    assert checks["provider"].state == "fail"
    assert "refuses the key" in checks["provider"].told
    assert "OPENAI_API_KEY" in str(checks["provider"].advice)
    assert checks["tools"].state == "skip"


def test_a_server_that_lists_no_models_is_asked_all_the_same(tmp_path: Path):
    with answering(404) as url:
        checks = looked(Target("openai", "m", url, "k"), settings(tmp_path), timeout_s=2)
    assert checks["provider"].state == "warn"
    assert "/v1" in str(checks["provider"].advice)
    assert states(checks)["model"] == "skip"
    assert checks["tools"].state == "fail"
    assert "ask" in str(checks["tools"].advice)


def test_only_openai_itself_is_known_to_have_no_other_models():
    asked = Target("openai", "gpt-0", "https://api.openai.com/v1", "k")
    assert listed_model(asked, ["gpt-1"]).state == "fail"
    assert listed_model(asked, ["gpt-0"]).state == "ok"
    assert listed_model(replace(asked, base_url="http://127.0.0.1:8080/v1"), []).state == "warn"


def test_a_context_that_nobody_tells_is_a_warning(tmp_path: Path):
    with ModelServer(good) as server:
        checks = looked(Target("openai", "scripted", server.openai_url, "k"), settings(tmp_path))
    assert checks["context"].state == "warn"
    assert "CONTEXT_LENGTH" in str(checks["context"].advice)
    assert checks["context"].data == {"context_length": None}


@pytest.mark.parametrize(("status", "word"), [(404, "HTTP 404"), (200, "does not say")])
def test_an_ollama_that_does_not_show_the_model_s_context_leaves_it_unknown(status: int, word: str, tmp_path: Path):
    with answering(status) as url:
        found = ollama_context(Target("ollama", "scripted", url), settings(tmp_path), timeout_s=2)
    assert found.state == "warn"
    assert word in found.told
    assert found.data["context_length"] is None


def test_a_reasoning_model_gets_no_bound_that_its_thoughts_would_use_up(tmp_path: Path):
    with ModelServer(good, models=("gpt-5-mini",)) as server:
        looked(Target("openai", "gpt-5-mini", server.openai_url, "k"), settings(tmp_path))
        bounds = [[key for key in chat.body or {} if "max" in key] for chat in server.chats]
    assert bounds == [[], [], []]


def test_a_name_that_the_server_does_not_list_is_a_warning_only(tmp_path: Path):
    with ModelServer(good) as server:
        checks = looked(Target("openai", "other", server.openai_url, "k"), settings(tmp_path, context_length=8192))
    assert checks["model"].state == "warn"
    assert "scripted" in checks["model"].told
    assert checks["tools"].state == "ok"


def test_the_mock_is_not_probed(tmp_path: Path):
    checks = looked(Target("mock"), settings(tmp_path))
    assert [checks[name].state for name in ("provider", "tools", "schema", "speed")] == ["skip"] * 4
    assert checks["price"].state == "ok"


def test_a_known_price_is_told(tmp_path: Path):
    with ModelServer(good) as server:
        prices: dict[str, Any] = {"openai_input_price_per_1k": 0.001, "openai_output_price_per_1k": 0.002}
        asked = Target("openai", "scripted", server.openai_url, "k")
        checks = looked(asked, settings(tmp_path, context_length=8192, **prices))
    assert checks["price"].state == "ok"
    assert "$1 a million tokens in, $2 out" in checks["price"].told


def test_a_folder_that_cannot_be_written_fails_and_names_its_setting(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    found = settings(tmp_path)
    checks = looked(Target("mock"), found, traces_dir=tmp_path / "file" / "traces")
    assert checks["traces"].state == "fail"
    assert "TRACES_DIR" in str(checks["traces"].advice)
    assert checks["state"].state == "ok"


def test_a_disk_that_is_nearly_full_is_a_warning(tmp_path: Path):
    found = folder("traces", tmp_path, "TRACES_DIR", little=10**18)
    assert (found.state, found.data["path"]) == ("warn", str(tmp_path))
    assert "free some space" in str(found.advice)
