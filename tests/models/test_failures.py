"""What servers say when they refuse, and what a run makes of it."""

import re
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any, get_args

import dspy
import pytest
from dspy import LMNotConfiguredError, LMProviderError, LMStreamAssemblyError, LMUnexpectedError
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.files.known_secrets import remember
from micro_agent.models.failures import (
    LM_ERRORS,
    Code,
    Refusal,
    failure_of,
    marked,
    refused,
    refuses_dots,
    refuses_schema,
    refuses_stream_options,
    refuses_tools,
    retry_after,
    retryable,
)
from micro_agent.models.refusals import coded, said
from tests.each import each

URL = "http://127.0.0.1:8080/v1/chat/completions"


def refusal(status: int, body: str, provider: str = "openai", **headers: str) -> dspy.LMError:
    return refused(Refusal(status, body, headers, URL, "m", provider))


def quoted(message: str, **keys: str) -> str:
    fields = "".join(f', "{key}": "{value}"' for key, value in keys.items())
    return f'{{"error": {{"message": "{message}"{fields}}}}}'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "a\\nb", "code": "c", "type": "t"}}', "a b"),
        ('{"error": "plain"}', "plain"),
        ('{"message": "bare"}', "bare"),
        ('[{"error": {"message": "in a list"}}]', "in a list"),
        ('{"detail": "fast"}', "fast"),
        ('{"detail": [{"loc": ["body", "tools"], "msg": "no"}, {"loc": 3, "msg": "x"}, 4]}', "body.tools: no; 3: x"),
        ('{"error": {"message": "up", "metadata": {"raw": "stream"}}}', "up; stream"),
        ('{"error": {"metadata": 3, "detail": 4}}', ""),
        ('{"error": [1]}', ""),
        ("<html><h1>502 Bad\n Gateway</h1></html>", "502 Bad Gateway"),
        ("[" * 100_000, "[" * 100_000),
        ("[]", "[]"),
        ("", ""),
    ],
)
def test_the_words_in_every_shape_of_body(body: str, words: str) -> None:
    assert said(body) == words


def test_codes_stand_before_the_words() -> None:
    assert coded('{"error": {"message": "a", "code": "c", "type": "t"}}') == "c t a"
    assert coded('{"error": {"message": "a", "code": 3}}') == "a"


@each(
    ("status", "body", "kind", "code", "retry"),
    [
        (401, quoted("bad"), dspy.LMAuthError, "AUTH", False),
        (403, "", dspy.LMAuthError, "AUTH", False),
        (402, quoted("pay"), dspy.LMBillingError, "BILLING", False),
        (429, quoted("x", code="insufficient_quota"), dspy.LMBillingError, "BILLING", False),
        (400, quoted("Insufficient Balance"), dspy.LMBillingError, "BILLING", False),
        (429, quoted("Too many tokens, please wait"), dspy.LMRateLimitError, "RATE_LIMITED", True),
        (404, quoted("The model `m` does not exist"), dspy.LMUnsupportedModelError, "MODEL_NOT_FOUND", False),
        (400, quoted("m is not a valid model ID"), dspy.LMUnsupportedModelError, "MODEL_NOT_FOUND", False),
        (404, quoted("no route"), dspy.LMInvalidRequestError, "BAD_REQUEST", False),
        (404, quoted("No endpoints found that support tool use"), dspy.LMInvalidRequestError, "BAD_REQUEST", False),
        (400, quoted("no"), dspy.LMInvalidRequestError, "BAD_REQUEST", False),
        (418, "", dspy.LMInvalidRequestError, "BAD_REQUEST", False),
        (500, quoted("tools param requires --jinja flag"), dspy.LMInvalidRequestError, "BAD_REQUEST", False),
        (500, quoted("oops"), dspy.LMServerError, "SERVER_ERROR", True),
        (501, quoted("oops"), dspy.LMServerError, "SERVER_ERROR", False),
        (408, "", dspy.LMServerError, "SERVER_ERROR", True),
        (529, quoted("overloaded"), dspy.LMServerError, "SERVER_ERROR", True),
        (500, quoted("model requires more system memory"), dspy.LMServerError, "SERVER_ERROR", False),
        (200, quoted("oops"), dspy.LMServerError, "SERVER_ERROR", True),
        (200, '{"error": {"code": 401, "message": "no"}}', dspy.LMAuthError, "AUTH", False),
        (200, '{"error": {"code": 7, "message": "no"}}', dspy.LMServerError, "SERVER_ERROR", True),
        (308, "", LMProviderError, "BAD_REPLY", False),
    ],
)
def test_status_and_words_make_the_error(
    status: int, body: str, kind: type[dspy.LMError], code: str, retry: bool
) -> None:
    error = refusal(status, body)
    failure = failure_of(error)
    assert type(error) is kind
    assert (failure.code, failure.retryable, failure.reason) == (code, retry, "lm_error")
    assert URL in failure.message


@each(
    "words",
    [
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
        "'max_tokens' is too large: 1024. This model's maximum context length is 2048 tokens",
        "the request exceeds the available context size. try increasing the context size",
        "input length exceeds the context length",
        "Requested tokens (9000) exceed context window of 8192",
        "Prompt is too long: 9000 tokens > 8192",
        "prompt too long; exceeded max context length by 12 tokens",
        "Too many input tokens",
        "Please reduce the length of the messages or completion.",
        "the prompt has 9000 tokens, more than n_ctx: it exceeds n_ctx",
        "context size is too small for this prompt",
        "Input is too long for requested model.",
        "exceed_context_size_error",
    ],
)
@each("status", [400, 413, 500])
def test_a_context_that_is_too_short_is_recognised_by_words(words: str, status: int) -> None:
    error = refusal(status, quoted(words))
    assert type(error) is dspy.ContextWindowExceededError
    foreign = dspy.LMInvalidRequestError(words)
    for exc in (error, foreign):
        failure = failure_of(exc)
        assert (failure.code, failure.reason, failure.retryable) == ("CONTEXT_OVERFLOW", "context_overflow", False)
        assert "longer context" in failure.message


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens must be at most 4096",
        "Rate limit reached: too many tokens per minute",
        "unknown option num_ctx",
        "In the context of this request the field 'seed' is unknown",
        "Token limit reached",
        "Invalid 'messages[3].content': string too long",
        "the context length of this model is not known",
    ],
)
def test_other_words_are_no_short_context(words: str) -> None:
    assert failure_of(refusal(400, quoted(words))).code == "BAD_REQUEST"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, '{"error": "registry.ollama.ai/library/gemma:2b does not support tools"}'),
        (400, quoted("deepseek-reasoner does not support Function Calling")),
        (
            400,
            quoted("auto tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set").replace(
                "auto", '\\"auto\\"', 1
            ),
        ),
        (500, quoted("tools param requires --jinja flag")),
        (501, quoted("Unsupported param: tools")),
        (400, '{"error": "json: unknown field \\"tools\\""}'),
        (400, quoted("Unrecognized request argument supplied: tools")),
        (
            422,
            '{"detail": [{"type": "extra", "loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}',
        ),
        (404, quoted("No endpoints found that support tool use. To learn more")),
        (400, quoted("Function calling is not enabled for this model")),
        (400, quoted("`tools` is not supported with this model")),
        (400, quoted("Tool use is not currently supported")),
        (500, "got an unexpected keyword argument 'tools'"),
    ],
)
def test_servers_without_tools(status: int, body: str) -> None:
    error = refusal(status, body)
    assert refuses_tools(error)
    assert not refuses_schema(error)
    assert not retryable(error)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, quoted("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.")),
        (400, quoted("This response_format type is unavailable now")),
        (400, "{\"error\": \"'response_format.type' must be 'json_object' or 'text'\"}"),
        (400, quoted("This model does not support response format `json_schema`")),
        (400, quoted("Invalid schema for response_format 'd': In context=(), 'required' is missing")),
        (500, quoted("The provided JSON schema contains features not supported by xgrammar.")),
        (400, quoted("Failed to parse grammar")),
        (400, '{"error": "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"}'),
        (500, '{"error": "invalid JSON schema in format"}'),
        (422, '{"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}]}'),
        (400, quoted("unknown field: response_format")),
        (400, quoted("structured outputs are not yet supported")),
    ],
)
def test_servers_without_schemas(status: int, body: str) -> None:
    error = refusal(status, body)
    assert refuses_schema(error)
    assert not refuses_tools(error)
    assert not retryable(error)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, quoted("tools are not supported: Failed to call a function", code="tool_use_failed")),
        (400, quoted("Invalid 'tools[0].function.name': string does not match pattern")),
        (400, quoted("Unknown parameter: 'tools[0].strict'")),
        (400, quoted("This model does not support parallel tool calls")),
        (400, quoted("tool_call_id 'x' not found in 'tool_calls' of previous message")),
        (
            400,
            quoted(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
            ),
        ),
        (429, quoted("tools are not supported on the free tier, slow down")),
        (503, quoted("tools are not available, response_format is not available")),
        (401, quoted("response_format is not supported without a key, does not support tools")),
        (400, quoted("temperature is not supported")),
    ],
)
def test_other_refusals_change_nothing(status: int, body: str) -> None:
    error = refusal(status, body)
    assert not refuses_tools(error)
    assert not refuses_schema(error)


def test_refusals_of_other_engines_are_read_from_their_message() -> None:
    assert refuses_tools(dspy.LMInvalidRequestError("llama2 does not support tools", status=400))
    assert refuses_schema(dspy.LMInvalidRequestError("response_format is not supported"))
    assert not refuses_tools(ValueError("does not support tools"))


def test_a_refusal_carries_what_the_server_said_and_shows_no_key() -> None:
    remember("api_key", "the-long-key")
    error = refusal(
        400, quoted("no: the-long-key", code="bad") + "x" * 100_000, **{"retry-after": "3", "x-request-id": "r1"}
    )
    assert (error.status, error.retry_after, error.request_id, error.provider, error.model) == (
        400,
        3,
        "r1",
        "openai",
        "m",
    )
    body = vars(error)["body"]
    assert len(body) <= 65536
    assert "the-long-key" not in str(error)
    assert refusal(400, quoted("no", code="bad")).provider_code == "bad"


def test_redirects_say_where_to() -> None:
    assert "set the base URL to where it redirects, https://x/v1" in str(refusal(301, "", location="https://x/v1"))
    assert "which is not said" in str(refusal(301, ""))


@pytest.mark.parametrize(
    ("exc", "code", "told"),
    [
        (dspy.LMTransportError("cannot reach http://h"), "NO_SERVER", "is the server running?"),
        (
            marked(dspy.LMTransportError("it broke"), reached=True),
            "SERVER_ERROR",
            "it broke (m at http://h): try again",
        ),
        (dspy.LMTimeoutError("late"), "TIMEOUT", "late (m at http://h): allow more time or take a smaller model"),
        (TimeoutError(), "TIMEOUT", "TimeoutError (m at http://h): allow"),
        (dspy.LMServerError(" "), "SERVER_ERROR", "LMServerError (m at http://h): try"),
        (LMNotConfiguredError("no key"), "AUTH", "set the API key"),
        (LMStreamAssemblyError("half"), "BAD_REPLY", "half"),
        (dspy.LMUnsupportedFeatureError("no pictures"), "BAD_REQUEST", "no pictures"),
        (dspy.LMError("what I know", code="MOCK_REFUSED"), "MOCK_REFUSED", "what I know"),
        (LMUnexpectedError("odd"), "UNEXPECTED", "LMUnexpectedError: odd"),
        (ValueError(), "UNEXPECTED", "ValueError"),
    ],
)
def test_any_exception_becomes_a_failure(exc: Exception, code: str, told: str) -> None:
    failure = failure_of(exc, base_url="http://h", model="m")
    assert failure.code == code
    assert told in failure.message


def test_what_a_model_call_raises_is_one_tree() -> None:
    assert isinstance(refusal(500, ""), LM_ERRORS)


def test_only_what_may_pass_is_tried_again() -> None:
    assert retryable(dspy.LMTransportError("x"))
    assert not retryable(marked(dspy.LMTransportError("x"), emitted=True))
    assert not retryable(dspy.LMTimeoutError("x"))
    assert not retryable(ConnectionError("not of a model call"))
    assert failure_of(dspy.LMRateLimitError("x", retry_after=3.0)).retry_after == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefgh1234.",
        "Authorization: Bearer abcdefgh1234",
        "key AIzaabcdefgh1234abcdefgh1234",
        "http://me:abcdefgh1234@host/v1",
        "gsk_abcdefgh1234",
    ],
)
def test_a_message_holds_no_key(text: str) -> None:
    assert "abcdefgh1234" not in failure_of(dspy.LMAuthError(text)).message
    assert "abcdefgh1234" not in failure_of(refusal(401, quoted(text))).message


@given(st.text(), st.sampled_from([200, 302, 400, 404, 429, 500]))
def test_a_message_is_one_short_line_whatever_the_server_says(body: str, status: int) -> None:
    for exc in (refusal(status, body * 50, provider="ollama"), dspy.LMServerError(body * 50), ValueError(body)):
        message = failure_of(exc, base_url="http://h", model="m").message
        assert 0 < len(message) <= 500
        assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-7"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 -0000"}, 0.0),
        ({}, None),
    ],
)
def test_the_time_to_wait(headers: dict[str, Any], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_the_time_to_wait_may_be_a_date() -> None:
    seconds = retry_after({"retry-after": formatdate(time() + 60, usegmt=True)})
    assert seconds is not None
    assert 50 < seconds <= 61


def test_the_page_lists_every_code_and_says_truly_whether_it_is_tried_again():
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| .*? \| (yes|no) \| .+ \|$", page, flags=re.MULTILINE))
    assert set(rows) == set(get_args(Code))
    examples = [
        dspy.LMTransportError("refused"), dspy.LMTimeoutError("late"), refusal(401, ""), refusal(402, ""),
        refusal(429, ""), refusal(503, ""), refusal(404, '{"error": "model \\"m\\" not found"}'),
        refusal(400, '{"error": {"code": "context_length_exceeded"}}'), refusal(400, "no"), LMProviderError("?"),
        LMUnexpectedError("?"), marked(LMUnexpectedError("no rule"), code="MOCK_REFUSED"),
    ]  # fmt: skip
    tried = {failure_of(error).code: "yes" if retryable(error) else "no" for error in examples}
    assert tried == rows


@pytest.mark.parametrize(
    "words",
    [
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches '^[a-z]+$'.",
        "Invalid function name. Must start with a letter or an underscore.",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        "Function name was files.read but must be a-z, A-Z, 0-9, or contain underscores and dashes",
    ],
)
def test_a_server_that_takes_no_dots_in_names_is_known_by_its_words(words: str):
    assert refuses_dots(refusal(400, quoted(words)))
    assert not refuses_dots(refusal(429, quoted(words)))


@pytest.mark.parametrize("words", ["model name is invalid", "m does not support tools", "The model `x` does not exist"])
def test_other_words_about_names_and_tools_are_not_taken_for_it(words: str):
    assert not refuses_dots(refusal(400, quoted(words)))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, quoted("stream_options is not allowed")),
        (400, quoted("Unrecognized request argument supplied: stream_options")),
        (400, quoted("Unknown parameter: 'stream_options.include_usage'.")),
        (400, quoted("property 'stream_options' is unsupported, did you mean 'stream'?")),
        (400, quoted("Additional properties are not allowed ('stream_options' was unexpected)")),
        (400, '{"error": "json: unknown field \\"stream_options\\""}'),
        (400, quoted("unknown field `include_usage`, expected nothing")),
        (422, '{"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}'),
        (500, "got an unexpected keyword argument 'stream_options'"),
    ],
)
def test_a_server_that_takes_no_stream_options_is_known_by_its_words(status: int, body: str) -> None:
    error = refusal(status, body)
    assert refuses_stream_options(error)
    assert not refuses_tools(error)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, quoted("stream is not supported")),
        (400, "no tools: {'stream': true, 'stream_options': {'include_usage': true}, 'tools': []}"),
        (429, quoted("stream_options is not allowed")),
        (401, quoted("stream_options is not allowed")),
    ],
)
def test_other_refusals_and_a_request_sent_back_are_not_taken_for_it(status: int, body: str) -> None:
    assert not refuses_stream_options(refusal(status, body))
