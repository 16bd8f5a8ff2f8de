# pyright: reportUnknownMemberType=false
"""How long a context is: what servers say in their several ways, asked once and only where it costs nothing."""

import asyncio
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import dspy
import pytest

from micro_agent import MicroAgent, configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models.addresses import OPENAI_PUBLIC_URL
from micro_agent.models.context_length import context_length_of, told_by
from micro_agent.models.identity import Told, mode_of, traits_of
from micro_agent.models.refusals import context_limit
from micro_agent.models.settings import Settings
from micro_agent.testing import ModelServer, ScriptedLM, text

SETTINGS = Settings()
CPP = "llama.cpp"


@contextmanager
def telling(answers: Mapping[str, Any]) -> Generator[tuple[str, list[tuple[str, str | None]]]]:
    """A server that answers GET and POST with these bodies, 404 to all else; its URL, and what it was asked."""
    asked: list[tuple[str, str | None]] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.dumps(answers.get(self.path)).encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that http.server asks for

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def models(**entry: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "m", "object": "model", **entry}]}


@pytest.mark.parametrize(
    ("answers", "length"),
    [
        ({"/v1/models": models(max_model_len=4096)}, 4096),  # vLLM, SGLang
        ({"/v1/models": models(meta={"n_ctx": 2048, "n_ctx_train": 131072})}, 2048),  # llama.cpp
        ({"/v1/models": models(), "/props": {"default_generation_settings": {"n_ctx": 1024}}}, 1024),
        ({"/v1/models": models(), "/api/v0/models": models(loaded_context_length=512, max_context_length=9)}, 512),
        ({"/v1/models": models(context_window=8000)}, 8000),  # Groq
        ({"/v1/models": models(context_length=16000)}, 16000),  # OpenRouter, Together
        ({"/v1/models": {"data": [*models(max_model_len=1)["data"], {"id": "other", "max_model_len": 7}]}}, 1),
        ({"/v1/models": {"data": [{"id": "an alias", "max_model_len": 77}]}}, 77),  # the only model there is
        ({"/v1/models": {"data": [{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}]}}, None),
        ({"/v1/models": models(max_model_len=0, context_length="8192", context_window=True, meta=[])}, None),
        ({"/v1/models": models(max_context_length=131072, meta={"n_ctx_train": 131072})}, None),
        ({"/v1/models": [], "/props": "no", "/api/v0/models": {"data": "no"}}, None),
        ({}, None),
    ],
)
def test_each_server_says_it_in_its_own_way(answers: dict[str, Any], length: int | None) -> None:
    with telling(answers) as (url, asked):
        lm = configure_lm("openai", "m", f"{url}/v1", "key", settings=SETTINGS)
        assert [context_length_of(lm.copy(), SETTINGS) for _ in range(2)] == [length] * 2
    paths = [path for path, _ in asked]
    assert len(paths) == len(set(paths))
    assert paths[0] == "/v1/models"
    assert {key for _, key in asked} == {"Bearer key"}


def props(**caps: Any) -> dict[str, Any]:
    return {"default_generation_settings": {"n_ctx": 2048}, "chat_template_caps": caps}


@pytest.mark.parametrize(("says", "vision"), [(True, True), (False, False), ("no", None), (None, None)])
def test_llama_cpp_says_whether_its_model_takes_images(says: Any, vision: bool | None) -> None:
    answers = {"/v1/models": models(), "/props": {**props(), "modalities": {"vision": says, "audio": True}}}
    with telling(answers) as (url, asked):
        lm = configure_lm("openai", "m", f"{url}/v1", settings=SETTINGS)
        assert told_by(lm) == Told(2048, CPP, vision=vision)
        if vision is False:
            agent = MicroAgent("question, image: dspy.Image -> answer", tools=[], lm=lm)
            with pytest.raises(ConfigurationError, match=r"takes no images, .* start it with the model's --mmproj"):
                agent.ask("What?", image=b"\x89PNG\r\n\x1a\n")
    assert ("/v1/chat/completions", None) not in asked


@pytest.mark.parametrize(
    ("capabilities", "vision"),
    [(["completion", "vision"], True), (["completion"], False), ([], None), (None, None), ("vision", None)],
)
def test_ollama_says_whether_its_model_takes_images(capabilities: Any, vision: bool | None) -> None:
    with telling({"/api/tags": {"models": [{"name": "m"}]}, "/api/show": {"capabilities": capabilities}}) as (url, _):
        assert told_by(configure_lm("ollama", "m", url, settings=SETTINGS)) == Told(vision=vision)


@pytest.mark.parametrize(
    ("answers", "told", "mode", "schemas"),
    [
        ({"/v1/models": models(max_model_len=4096)}, Told(4096), "native", "verbatim"),
        ({"/v1/models": models(owned_by="llamacpp", meta={"n_ctx": 2048})}, Told(2048, CPP), "native", "classes"),
        ({"/v1/models": models(owned_by="llamacpp", meta={"n_ctx": 2048}), "/props": props(supports_tools=False)},
         Told(2048, CPP, False), "json", "classes"),
        ({"/v1/models": models(), "/props": props(supports_tools=True)}, Told(2048, CPP, True), "native", "classes"),
        ({"/v1/models": models(), "/props": props(supports_tools="no")}, Told(2048, CPP), "native", "classes"),
        ({"/v1/models": models(), "/props": props(supports_tools=False), "/api/v0/models": models()},
         Told(2048, CPP, False), "json", "classes"),
    ],
)  # fmt: skip
def test_what_llama_cpp_says_beside_it(answers: dict[str, Any], told: Told, mode: str, schemas: str) -> None:
    with telling(answers) as (url, asked):
        lm = configure_lm("openai", "m", f"{url}/v1", settings=SETTINGS)
        assert [told_by(lm), told_by(lm.copy())] == [told] * 2
    assert (mode_of(lm), mode_of(lm, "native"), traits_of(lm).schemas) == (mode, "native", schemas)
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("provider", "answers", "word"),
    [
        ("openai", {"/v1/models": models(owned_by="llamacpp", meta={"n_ctx": 512})}, "with a larger -c"),
        ("openai", {"/v1/models": models(max_model_len=512)}, "where its server is set up"),
        ("ollama", {"/api/tags": {"models": [{"name": "m"}]}}, "OLLAMA_NUM_CTX"),
    ],
)
def test_advice_is_for_the_server_at_hand(provider: str, answers: dict[str, Any], word: str) -> None:
    settings = Settings(ollama_num_ctx=512)
    with telling(answers) as (url, _):
        base_url = url if provider == "ollama" else f"{url}/v1"
        lm = configure_lm(provider, "m", base_url, settings=settings, fallback=False)
        run = MicroAgent([], lm, rules=[], settings=settings).ask("and so on " * 1000)
    message = (run.error or {})["message"]
    assert run.termination_reason == "context_overflow"
    assert [known for known in ("-c", "where its server", "OLLAMA_NUM_CTX") if known in message] == [
        known for known in ("-c", "where its server", "OLLAMA_NUM_CTX") if known in word
    ]


def test_a_server_that_is_not_there_is_asked_once_and_waited_for_no_more() -> None:
    with telling({}) as (url, asked):
        pass
    lm = configure_lm("openai", "m", f"{url}/v1", settings=SETTINGS)
    assert (context_length_of(lm, SETTINGS), asked) == (None, [])


def test_a_setting_counts_before_the_server() -> None:
    with telling({"/v1/models": models(max_model_len=4096)}) as (url, asked):
        lm = configure_lm("openai", "m", f"{url}/v1")
        assert context_length_of(lm, Settings(context_length=1000)) == 1000
    assert asked == [("/v1/models", None)], "it may say something else of use"


@pytest.mark.parametrize(
    ("shown", "setting", "length"),
    [
        ({"model_info": {"general.architecture": "llama", "llama.context_length": 2048}}, None, 2048),
        ({"model_info": {"qwen2.context_length": 131072}}, None, 8192),
        ({"model_info": {"qwen2.context_length": 131072}}, 4000, 4000),
        ({"model_info": {}}, None, 8192),
        ({"model_info": None}, 100_000, 8192),
        ("nothing", None, 8192),
    ],
)
def test_ollama_has_what_is_sent_or_what_the_model_was_trained_with(
    shown: Any, setting: int | None, length: int
) -> None:
    tags = {"models": [{"name": "m", "model": "m"}]}
    with telling({"/api/tags": tags, "/api/show": shown}) as (url, _):
        lm = configure_lm("ollama", "m", url, fallback=False)
        assert context_length_of(lm, Settings(context_length=setting)) == length


def test_ollama_that_does_not_say_has_what_is_sent() -> None:
    with telling({"/api/tags": {"models": [{"name": "m"}]}}) as (url, _):
        lm = configure_lm("ollama", "m", url, fallback=False, settings=Settings(ollama_num_ctx=3000))
        assert context_length_of(lm, SETTINGS) == 3000


def test_models_of_a_public_service_stand_in_a_table() -> None:
    lm = configure_lm("openai", "gpt-4o-mini", OPENAI_PUBLIC_URL, "none")
    assert context_length_of(lm, SETTINGS) == 128_000
    unknown = configure_lm("openai", "no-such-model", OPENAI_PUBLIC_URL, "none")
    assert context_length_of(unknown, SETTINGS) is None
    assert context_length_of(configure_lm("mock"), SETTINGS) is None


def test_a_model_of_the_users_own_is_asked_about_nowhere() -> None:
    with telling({"/v1/models": models(max_model_len=4096)}) as (url, asked):
        lm = dspy.LM("openai/gpt-4o-mini", api_base=f"{url}/v1", api_key="x", engine="lm15")
        assert context_length_of(lm, SETTINGS) is None
    assert asked == []
    assert context_length_of(dspy.LM("openai/gpt-4o-mini", api_key="x", engine="lm15"), SETTINGS) == 128_000


@pytest.mark.parametrize("setting", [None, 5000])
def test_a_run_on_an_event_loop_finds_the_same(setting: int | None) -> None:
    with ModelServer([text("Hello.")] * 2, context_length=6000) as server:
        lm = configure_lm("ollama", "scripted", server.url, fallback=False)
        agent = MicroAgent(tools=[], lm=lm, rules=[], settings=Settings(context_length=setting))
        lengths = [asyncio.run(agent.aask("Hello?")).context_length, agent.ask("Hello?").context_length]
        assert lengths == [setting or 6000] * 2
        assert [request.path for request in server.requests].count("/api/show") == 1
    with_setting = MicroAgent(tools=[], lm=ScriptedLM([text("Hello.")]), rules=[], settings=Settings(context_length=9))
    assert asyncio.run(with_setting.aask("Hello?")).context_length == 9


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("This model's maximum context length is 4096 tokens. However, you requested 5060 tokens (4036 in", 4096),
        ("This model's maximum context length is 2048 tokens. However, your request has 8 input tokens", 2048),
        ("However, the model is loaded with context length of only 7866 tokens, which is not enough", 7866),
        ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", 7424),
        ("the request exceeds the available context size (8,192 tokens), try increasing it", 8192),
        ("Requested tokens (2285) exceed context window of 2048", 2048),
        ("The input (9000 tokens) is longer than the model's context length (4096 tokens).", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", 4096),
        ("your prompt exceeds the 8192-token context of this model", 8192),
        ("the prompt of 9000 tokens is too long", None),
        ("context size 0", None),
        (json.dumps({"error": {"code": 400, "message": "the request exceeds the available context size",
                               "type": "exceed_context_size_error", "n_prompt_tokens": 14429, "n_ctx": 8192}}), 8192),
        (json.dumps({"error": {"message": "maximum context length is 1234 tokens", "n_ctx": "many"}}), 1234),
        (json.dumps({"error": "prompt too long; exceeded max context length by 17 tokens"}), None),
    ],
)  # fmt: skip
def test_a_refusal_may_name_the_limit(body: str, limit: int | None) -> None:
    assert context_limit(body) == limit
