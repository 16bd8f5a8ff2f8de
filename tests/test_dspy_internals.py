# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false
"""What the names that DSPy does not export stand for. A release that moves or changes one of them fails here."""

import asyncio
import inspect
from dataclasses import fields, replace
from typing import Any

import dspy
import pytest
from dspy import lm15
from dspy.utils import BaseCallback

from micro_agent import dspy_internals as internals
from micro_agent.testing import ModelServer, text

_BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


def request_to(server: ModelServer, **more: Any) -> Any:
    url = f"{server.openai_url}/chat/completions"
    made = internals.TransportRequest(
        method="POST", url=url, headers=[("content-type", "application/json")], body=_BODY
    )
    return replace(made, **more)


def silent() -> ModelServer:
    return ModelServer([text("late")], latency_s=30)


def test_a_request_has_the_timeouts_that_are_set_for_each_exchange() -> None:
    named = {field.name for field in fields(internals.TransportRequest)}
    assert {"method", "url", "headers", "body", "read_timeout", "write_timeout"} <= named


def test_a_transport_posts_and_gives_the_body_in_pieces() -> None:
    with ModelServer([text("Well.")]) as server:
        transport = internals.StdlibTransport()
        response = transport.stream(request_to(server))
        assert isinstance(response, internals.TransportResponse)
        assert response.status == 200
        assert "application/json" in {name.lower(): value for name, value in response.headers}["content-type"]
        assert b"Well." in b"".join(response)
        response.close()
        transport.close()


def test_the_asynchronous_transport_does_the_same() -> None:
    async def post(server: ModelServer) -> bytes:
        transport = internals.StdlibAsyncTransport()
        response = await transport.stream(request_to(server))
        assert isinstance(response, internals.AsyncTransportResponse)
        body = b"".join([chunk async for chunk in response])
        await response.aclose()
        await transport.aclose()
        return body

    with ModelServer([text("Well.")]) as server:
        assert b"Well." in asyncio.run(post(server))


def test_a_transport_tells_no_server_from_one_that_is_late() -> None:
    for error in (internals.ConnectError, internals.ReadTimeout, internals.WriteTimeout):
        assert issubclass(error, internals.TransportError)
    with ModelServer() as server:
        gone = request_to(server)
    with pytest.raises(internals.ConnectError):
        internals.StdlibTransport().stream(gone)
    with silent() as server, pytest.raises(internals.ReadTimeout):
        internals.StdlibTransport().stream(request_to(server, read_timeout=0.05))


def test_a_transport_opens_connections_whose_socket_can_be_wrapped() -> None:
    opened: list[Any] = []

    class Watched(internals.StdlibTransport):
        def _open(self, *args: Any, **kwargs: Any) -> Any:
            opened.append(super()._open(*args, **kwargs))  # pyright: ignore[reportPrivateUsage]
            return opened[-1]

    with ModelServer([text("Well.")]) as server:
        b"".join(Watched().stream(request_to(server)))
    assert callable(opened[0].sock.settimeout)
    assert callable(opened[0].sock.recv)


def test_client_keys_are_what_an_lm_is_told_of_its_connection() -> None:
    assert {"api_key", "api_base", "base_url", "timeout"} <= set(internals.CLIENT_KEYS)


def test_an_lm_has_an_engine_for_each_way_of_calling() -> None:
    class Engine:
        def complete(self, request: lm15.Request) -> lm15.Response:
            raise NotImplementedError

    class Twin:
        async def complete(self, request: lm15.Request) -> lm15.Response:
            raise NotImplementedError

    engine, twin = Engine(), Twin()
    lm = dspy.LM("own/m", engine=engine, async_engine=twin)
    assert (lm.engine, internals.async_engine_of(lm)) == (engine, twin)
    assert internals.async_engine_of(dspy.LM("openai/m")) is None


def test_litellm_is_loaded_by_a_function_and_asked_by_two_engines() -> None:
    assert "feature" in inspect.signature(internals.get_litellm).parameters
    whole, awaited = internals.litellm_engine.LiteLLMEngine, internals.litellm_engine.AsyncLiteLLMEngine
    for engine in (whole, awaited):
        made = engine(api_base="http://127.0.0.1:1", api_key="none", timeout=1.0)
        assert callable(made.complete)
        assert callable(made.stream)
    assert inspect.iscoroutinefunction(awaited.complete)


def test_the_table_of_models_has_prices_and_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    info = internals.model_info("openai", "gpt-4o-mini")
    assert info["max_input_tokens"] == 128000
    assert internals.rate(info, "input_cost_per_token") == 1.5e-07
    assert internals.model_info("openai", "no-such-model") == {}
    assert internals.rate({}, "input_cost_per_token") is None


def test_the_process_wide_trace_is_the_one_that_nobody_asked_for() -> None:
    assert dspy.settings.trace is internals.process_wide_trace()
    with dspy.context(trace=[]):
        assert dspy.settings.trace is not internals.process_wide_trace()


def test_the_active_call_is_the_one_that_callbacks_take_for_the_parent() -> None:
    seen: list[Any] = []

    class Parent(BaseCallback):
        def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            seen.append((internals.ACTIVE_CALL_ID.get(), call_id))

    class Inner(dspy.Module):
        def forward(self) -> dspy.Prediction:
            return dspy.Prediction()

    class Outer(Inner):
        def forward(self) -> dspy.Prediction:
            return Inner()()

    with dspy.context(callbacks=[Parent()]):
        Outer()()
    (outermost, outer), (parent, _) = seen
    assert (outermost, parent) == (None, outer)


def test_gepas_proposer_is_a_class_with_bounds_and_advice() -> None:
    proposer: Any = internals.InstructionProposer
    parameters = inspect.signature(proposer.__init__).parameters
    assert {"max_chars", "additional_instructions"} <= set(parameters)
    assert inspect.isclass(proposer)
    assert list(inspect.signature(proposer.__call__).parameters)[1:] == [
        "candidate", "reflective_dataset", "components_to_update"
    ]  # fmt: skip


def test_something_is_sent_to_a_stream_from_a_worker_thread() -> None:
    def say(question: str) -> dspy.Prediction:
        internals.sync_send_to_stream(dspy.settings.send_stream, f"asked {question}")
        return dspy.Prediction(answer="yes")

    async def streamed() -> list[Any]:
        program: Any = dspy.streamify(say)  # pyright: ignore[reportArgumentType]
        return [value async for value in program(question="1?")]

    assert asyncio.run(streamed())[0] == "asked 1?"
