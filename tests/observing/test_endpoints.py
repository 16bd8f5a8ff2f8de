"""Where spans go, by what an option and the environment say."""

from typing import Any

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.observing import Endpoint, endpoint
from tests.each import each

PHOENIX = {"PHOENIX_COLLECTOR_ENDPOINT": "http://phoenix:6006"}
OTLP = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}
TRACES = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/custom"}
LOCAL = "http://localhost:6006/v1/traces"


@each(
    ("wanted", "environ", "url", "goes", "phoenix"),
    [
        (None, {}, None, None, False),
        (True, {}, None, LOCAL, True),
        (False, PHOENIX | OTLP, None, None, False),
        (None, PHOENIX | OTLP, None, "http://phoenix:6006/v1/traces", True),
        (True, PHOENIX, None, "http://phoenix:6006/v1/traces", True),
        (None, {"PHOENIX_COLLECTOR_ENDPOINT": LOCAL}, None, LOCAL, True),
        (None, OTLP, None, "http://collector:4318/v1/traces", False),
        (True, OTLP, None, "http://collector:4318/v1/traces", False),
        (None, OTLP | TRACES, None, "http://collector:4318/custom", False),
        (None, OTLP | {"OTEL_SDK_DISABLED": "true"}, None, None, False),
        (True, OTLP | {"OTEL_SDK_DISABLED": "true"}, None, "http://collector:4318/v1/traces", False),
        (None, PHOENIX, "https://other.example/", "https://other.example/v1/traces", False),
        (None, {}, "http://other:1/v1/traces", "http://other:1/v1/traces", False),
    ],
)
def test_an_option_goes_before_phoenix_before_opentelemetry(
    wanted: bool | None, environ: dict[str, str], url: str | None, goes: str | None, phoenix: bool
) -> None:
    found = endpoint(wanted, environ, url=url)
    assert (found and found.url) == goes
    assert bool(found and found.phoenix) == phoenix


def test_what_the_environment_says_beside_the_address() -> None:
    environ = PHOENIX | {
        "PHOENIX_API_KEY": "key", "PHOENIX_PROJECT_NAME": "project", "OTEL_SERVICE_NAME": "service",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "True",
    }  # fmt: skip
    found = endpoint(None, environ)
    assert found == Endpoint(
        "http://phoenix:6006/v1/traces", True, {"authorization": "Bearer key"}, "project", "service", True
    )
    assert "key" not in repr(found)
    elsewhere: Any = endpoint(None, environ, url="http://other:1")
    assert elsewhere.headers == {}  # the key is for Phoenix alone


def test_phoenix_has_a_page_for_each_trace() -> None:
    phoenix, other = Endpoint(LOCAL, True), Endpoint("http://collector:4318/v1/traces")
    assert [phoenix.where(), phoenix.where("ab")] == [
        "http://localhost:6006", "http://localhost:6006/redirects/traces/ab",
    ]  # fmt: skip
    assert [other.where(), other.where("ab")] == [other.url, f"{other.url} (trace ab)"]


@each("wrong", ["localhost:6006", "grpc://localhost:4317", "http://", "\0"])
def test_an_address_is_one_of_http(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="a collector of spans has an address like"):
        endpoint(True, {}, url=wrong)
