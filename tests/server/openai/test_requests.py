"""Requests in OpenAI's form: what is taken, what is refused and how, who may ask."""

import asyncio
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent import MicroAgent
from micro_agent.errors import ConfigurationError
from micro_agent.server.health import Backend
from micro_agent.server.openai.asked import Asked
from micro_agent.server.openai.chat import chunks
from micro_agent.server.openai.front_ends import known_front_ends
from micro_agent.server.openai.threads import Threads
from micro_agent.server.openai.turns import Desk
from micro_agent.server.runs import RunPool
from micro_agent.testing import Received, Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore
from tests.server.conftest import TOKEN
from tests.server.openai.conftest import OTHER_PNG, PNG, Client, Error, add, says

if TYPE_CHECKING:
    from tests.server.conftest import Start

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HI = [says("user", "Hi!")]
IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f", "parameters": {}}}


REFUSED: list[tuple[str, list[tuple[dict[str, Any], str, str, str]]]] = [
    (
        CHAT,
        [
            ({"messages": HI, "tools": [TOOL]}, "tools", "unsupported_parameter", "micro-agent proxy"),
            ({"messages": HI, "functions": [TOOL]}, "functions", "unsupported_parameter", "its own tools"),
            ({"messages": HI, "tool_choice": "required"}, "tool_choice", "unsupported_parameter", "its own tools"),
            ({"messages": HI, "n": 2}, "n", "unsupported_parameter", "one answer"),
            ({"messages": HI, "response_format": {"type": "json_object"}}, "response_format",
             "unsupported_parameter", "one text"),
            ({"messages": HI, "logprobs": True}, "logprobs", "unsupported_parameter", "log probabilities"),
            ({"messages": [], "n": 1}, "messages", "invalid_request", "at least 1"),
            ({"messages": HI, "stream": "yes"}, "stream", "invalid_request", "boolean"),
            ({"messages": [says("system", "Hi.")]}, "messages.0", "bad_request", "the last message is"),
            ({"messages": [*HI, says("assistant", "Hello")]}, "messages.1", "bad_request", "the last message"),
            ({"messages": [says("user", " \n")]}, "messages.0", "bad_request", "blank"),
            ({"messages": [says("assistant", "Hello."), *HI]}, "messages", "bad_request", "begins with the user"),
            ({"messages": [says("function", "5"), *HI]}, "messages", "bad_request", "has the role 'function'"),
            ({"messages": [says("user", [{"type": "input_audio"}])]}, "messages.0.content.0",
             "unsupported_parameter", "a text or an image"),
            ({"messages": [says("user", 5)]}, "messages.0.content.0", "unsupported_parameter", "a text or an"),
            ({"messages": [says("user", [IMAGE | {"image_url": {"url": "data:image/png;base64,AAAA"}}])]},
             "messages.0.content.0", "bad_request", "not a PNG"),
            ({"messages": [says("user", [IMAGE | {"image_url": {}}])]}, "messages.0.content.0", "bad_request",
             "an https URL"),
        ],
    ),
    (
        RESPONSES,
        [
            ({"input": "Hi!", "tools": [TOOL]}, "tools", "unsupported_parameter", "its own tools"),
            ({"input": "Hi!", "background": True}, "background", "unsupported_parameter", "leave this out"),
            ({"input": "Hi!", "text": {"format": {"type": "json_schema"}}}, "text.format",
             "unsupported_parameter", "one text"),
            ({"input": []}, "messages", "bad_request", "the last message"),
            ({"input": [{"type": "function_call_output", "call_id": "c", "output": "5"}]}, "input.0.type",
             "unsupported_parameter", "'function_call_output'"),
            ({}, "input", "invalid_request", "required"),
        ],
    ),
]  # fmt: skip
"""For each path bodies, the parameter that is named, the code, and what is told."""


def test_there_is_one_model(start: "Start") -> None:
    client = Client(start([text("Hello.")], backend=Backend("ollama", "llama3.2:3b")))
    model = {
        "id": "micro-agent", "object": "model", "created": 0, "owned_by": "micro-agent",
        "micro_agent": {"provider": "ollama", "model": "llama3.2:3b"},
    }  # fmt: skip
    assert client.serving.client.get("/v1/models").json() == {"object": "list", "data": [model]}
    assert client.serving.client.get("/v1/models/micro-agent").json() == model
    refused = client.serving.client.get("/v1/models/gpt-5").json()["error"]
    assert (refused["code"], refused["param"]) == ("model_not_found", "model")
    for ask in (client.chat, client.respond):
        with pytest.raises(Error, match="there is no model 'gpt-5' here: ask 'micro-agent'") as wrong:
            ask("Hi!", model="gpt-5")
        assert (wrong.value.status, wrong.value.code) == (404, "model_not_found")


@pytest.mark.parametrize(("path", "rows"), REFUSED)
def test_what_cannot_be_done_is_refused_and_nothing_is_asked(
    start: "Start", path: str, rows: list[tuple[dict[str, Any], str, str, str]]
) -> None:
    client = Client(start([]))
    for body, param, code, told in rows:
        answer = client.posted(path, **body)
        error = answer.json()["error"]
        assert (answer.status_code, error["type"], error["param"].split(".str")[0], error["code"]) == (
            400, "invalid_request_error", param, code,
        ), body  # fmt: skip
        assert told in error["message"], body
        assert error.keys() == {"message", "type", "param", "code"}
    assert client.serving.lm.requests == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "input_text", "refusal", "image_url", "input_image", "file"])},
    optional={"text": JSON, "refusal": JSON, "image_url": JSON | st.fixed_dictionaries({"url": JSON | st.just(PNG)})},
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "user", "assistant", "system", "tool", "nobody"])},
    optional={
        "content": JSON | st.lists(PART, max_size=2) | st.just("approve"), "tool_calls": JSON, "tool_call_id": JSON,
        "type": st.sampled_from(["message", "mcp_call", "reasoning", "function_call"]) | JSON, "id": JSON,
        "name": JSON, "arguments": JSON | st.just("{}"), "output": JSON,
    },
)  # fmt: skip


def test_whatever_is_sent_is_answered_or_refused(start: "Start") -> None:
    def fine(_: Received) -> Reply:
        return text("Fine.")

    client = Client(start(fine))

    @settings(max_examples=12)  # 1,500 of them take a minute
    @given(st.lists(MESSAGE | JSON, max_size=4) | JSON, st.sampled_from([CHAT, RESPONSES]), JSON, JSON)
    def answered(messages: Any, path: str, previous: Any, metadata: Any) -> None:
        named = {"messages": messages} if path == CHAT else {"input": messages, "previous_response_id": previous}
        answer = client.posted(path, **named, metadata=metadata)
        assert answer.status_code in (200, 400, 404), answer.text
        assert answer.status_code == 200 or answer.json()["error"].keys() == {"message", "type", "param", "code"}

    answered()


def test_what_changes_nothing_is_taken(start: "Start") -> None:
    client = Client(start([text("Hello."), text("Hello.")]))
    harmless = {
        "temperature": 0.1,
        "max_tokens": 5,
        "stop": ["x"],
        "n": 1,
        "tools": [],
        "response_format": {"type": "text"},
    }
    assert client.says("Hi!", **harmless, user="me", unheard="of") == "Hello."
    assert client.respond("Hi!", text={"format": {"type": "text"}}, store=False).output_text == "Hello."


def test_images_go_with_the_question_those_of_earlier_messages_too(start: "Start") -> None:
    client = Client(start([text("A cat."), text("No."), text("No.")]))
    first = says("user", [{"type": "text", "text": "What is it?"}, IMAGE])
    second = says("user", [{"type": "text", "text": "And this?"}, IMAGE | {"image_url": {"url": OTHER_PNG}}])
    assert client.says(first) == "A cat."
    run = client.serving.store.load(client.chat(first, says("assistant", "A cat."), second).micro_agent["trace_id"])
    assert (run.follows, len(run.images), run.question) == (None, 2, "And this?\n(image 2)")
    assert run.history[0]["content"] == "What is it?\n(image 1)"
    sent = client.sent()[-1]["content"]
    assert [part["image_url"]["url"] for part in sent if part["type"] == "image_url"] == [PNG, OTHER_PNG]
    client.respond([says("user", [{"type": "input_text", "text": "This?"}, {"type": "input_image", "image_url": PNG}])])
    assert PNG in str(client.sent()[-1]["content"])


def test_a_response_about_an_image_is_not_followed(start: "Start") -> None:
    client = Client(start([text("A cat.")]))
    first = client.respond(
        [says("user", [{"type": "input_text", "text": "?"}, {"type": "input_image", "image_url": PNG}])]
    )
    with pytest.raises(Error, match="no record keeps those") as refused:
        client.respond("And?", previous_response_id=first.id)
    assert refused.value.param == "previous_response_id"


BEGINS = "### Task:\nName this chat in 2-4 words.\n### Guidelines:\n- Be plain.\n### Chat History:\n<chat_history>\n"
TITLE = f"{BEGINS}USER: Hi!\n</chat_history>"


@pytest.fixture
def template(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a template of ours stand among theirs, whose words are not kept here."""
    (open_webui,) = known_front_ends()
    digest = sha256(BEGINS.encode()).hexdigest()
    monkeypatch.setitem(open_webui["templates"][0]["begins"], len(BEGINS), digest)


@pytest.mark.usefixtures("template")
@pytest.mark.parametrize(
    ("question", "headers", "metadata"),
    [
        ("Tags?", {"X-OpenWebUI-Task": "tags_generation"}, None),
        ("Title?", {}, {"task": "title_generation"}),
        (TITLE, {"X-OpenWebUI-Task": ""}, None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_a_front_end_asks_for_itself_runs_no_tool_and_leaves_no_record(
    start: "Start", question: str, headers: dict[str, str], metadata: Any, stream: bool
) -> None:
    client = Client(start([text('{"title": "A greeting"}')], tools=[add]))
    done = client.chat(says("system", "Reply in French."), question, stream=stream, metadata=metadata, headers=headers)
    said = (
        "".join(chunk.choices[0].delta.content or "" for chunk in done) if stream else done.choices[0].message.content
    )
    assert said == '{"title": "A greeting"}'
    (request,) = client.serving.lm.requests
    assert not request.tools
    assert client.sent()[0]["content"] == (
        "Do what is asked, in the form that is asked for, and say nothing else.\n\nReply in French."
    )
    assert list(client.serving.store.ids()) == list(client.serving.store.open_ids()) == []


def test_a_front_ends_question_with_an_image(start: "Start") -> None:
    client = Client(start([text("A cat")]))
    shown = says("user", [{"type": "text", "text": "Title?"}, IMAGE])
    assert client.says(shown, headers={"X-OpenWebUI-Task": "title_generation"}) == "A cat"


LOOKS_LIKE_IT: list[tuple[list[Any], dict[str, str]]] = [
    ([f"Why does this give no title?\n{TITLE}"], {}),
    ([f"{TITLE}\nWhy does this give no title?"], {}),
    ([TITLE.replace("2-4 words", "2-5 words")], {}),
    ([TITLE.replace("### Guidelines", "### Rules")], {}),
    (["Hi!", says("assistant", "Hello."), TITLE], {}),
    (["### Task:\nMend till.py.\n### Chat History:\n<chat_history>\nUSER: It is broken.\n</chat_history>"], {}),
    # A question about a file: it begins as the templates of tasks do, and the file may hold anything.
    (["### Task:\nRespond to the user query.\n<context>\n<chat_history>\n</chat_history>\n</context>\n\nAdd!"], {}),
    (["### Task:\n<chat_history></chat_history>"], {}),
    (["title_generation"], {}),
    # What is no task: an older version that sends the placeholder as it stands, and an agent of the front end's.
    (["Hi!"], {"X-OpenWebUI-Task": "{{TASK}}"}),
    (["Hi!"], {"X-OpenWebUI-Task": "Add two numbers"}),
]


@pytest.mark.usefixtures("template")
def test_what_only_looks_like_it_is_a_question(start: "Start") -> None:
    def five(_: Received) -> Reply:
        return text("It is 5.")

    client = Client(start(five, tools=[add]))
    for turns, headers in LOOKS_LIKE_IT:
        assert client.says(*turns, metadata={"task": "homework"}, headers=headers) == "It is 5.", turns
        assert client.serving.lm.requests[-1].tools, turns


def test_errors_on_these_paths_are_in_their_form_and_others_are_not(start: "Start") -> None:
    client = start(api_token=TOKEN, max_body=300).client
    post: Any = {"url": CHAT, "content": b"{", "headers": {"Content-Type": "application/json"}}
    found = {
        "unauthorized": client.get("/v1/models", headers={"Authorization": "Bearer x"}),
        "bad_host": client.get("/v1/models", headers={"Host": "evil.example"}),
        "cross_site": client.get("/v1/models", headers={"Origin": "https://evil.example"}),
        "not_found": client.get("/v1/embeddings"),
        "method_not_allowed": client.get(CHAT),
        "unsupported_media_type": client.post(CHAT, content=b"{}"),
        "too_large": client.post(CHAT, json={"messages": ["x" * 400]}),
        "bad_request": client.post(**post),
    }
    statuses = {code: answer.status_code for code, answer in found.items()}
    assert statuses == {
        "unauthorized": 401, "bad_host": 403, "cross_site": 403, "not_found": 404, "method_not_allowed": 405,
        "unsupported_media_type": 415, "too_large": 413, "bad_request": 400,
    }  # fmt: skip
    for code, answer in found.items():
        error = answer.json()["error"]
        assert (error["code"], error["param"], int(answer.headers["content-length"])) == (
            code,
            None,
            len(answer.content),
        )
        assert answer.headers["cache-control"] == "no-store"
    assert found["unauthorized"].json()["error"]["type"] == "authentication_error"
    assert found["bad_host"].json()["error"]["type"] == "permission_error"
    assert client.get("/nothing").json()["error"].keys() == {"code", "message"}


def test_a_refused_preflight_stays_as_it_is(start: "Start") -> None:
    asked = {
        "Origin": "https://app.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-unheard-of",
    }  # fmt: skip
    answer = start(allowed_origins="https://app.example").client.options(CHAT, headers=asked)
    assert (answer.status_code, answer.text) == (400, "Disallowed CORS headers")


def test_a_defect_is_told_in_the_form_of_its_path(start: "Start") -> None:
    theirs, ours = start(), start()
    theirs.app.state.desk = ours.app.state.store = None
    answer = theirs.client.post(CHAT, json={"model": "micro-agent", "messages": HI})
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "server_error")
    assert (answer.headers["x-should-retry"], answer.headers["x-content-type-options"]) == ("false", "nosniff")
    assert ours.client.get("/runs").json()["error"].keys() == {"code", "message"}


def test_a_server_without_a_model_says_so(store: TraceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "openai")
    agent = MicroAgent(tools=[], traces=store)

    async def asked() -> None:
        desk = Desk(RunPool(lambda _: agent, store), store, Threads())
        await desk.turn(Asked("Hi!"), text=False, own_task=False)

    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        asyncio.run(asked())


def test_the_oldest_conversations_are_forgotten() -> None:
    threads = Threads(kept=2)
    for number in range(3):
        threads.answered([says("user", str(number))], f"run {number}")
    threads.answered([says("user", "1")], "run 1 again")
    threads.answered([says("user", "3")], "run 3")
    assert [threads.run_at([says("user", str(number))]) for number in range(4)] == [None, "run 1 again", None, "run 3"]


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_a_silent_run_keeps_its_connection_alive(store: TraceStore, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    from micro_agent.server.openai import frames
    from micro_agent.server.openai.bodies import ResponseRequest
    from micro_agent.server.openai.responses import Telling, events

    monkeypatch.setattr(frames, "HEARTBEAT_S", 0.001)

    async def work() -> list[bytes]:
        go = asyncio.Event()

        async def wait() -> str:
            """Wait."""
            await go.wait()
            return "done"

        agent = MicroAgent(tools=[wait], lm=ScriptedLM([call("wait", {}), text("Done.")]), rules=[], traces=store)
        desk = Desk(RunPool(lambda _: agent, store), store, Threads())
        turn = await desk.turn(Asked("Wait."), text=True, own_task=False)
        telling = Telling(turn, ResponseRequest(model="micro-agent", input="Wait."), await turn.run_id())
        said: list[bytes] = []
        async for frame in chunks(desk, turn, with_usage=False) if kind == "chat" else events(desk, turn, telling):
            said.append(frame)
            if said.count(b": ping\n\n") == 2:
                go.set()
        return said

    assert asyncio.run(work()).count(b": ping\n\n") >= 2
