# pyright: reportUnknownMemberType=false
"""Several servers for one model: which is asked, what becomes of a run when its server dies, comes back, refuses."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from time import monotonic, sleep
from typing import Any

import dspy
import pytest
from dspy import LMError, LMTimeoutError, lm15

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.models.scope import CallScope, Seat, calling
from micro_agent.models.servers import at_once
from micro_agent.models.settings import Settings
from micro_agent.testing import ModelServer, Received, Reply, cut, error, hang, malformed, raw, text
from tests.each import each
from tests.models.several import held, listed, two_calls

pytestmark = pytest.mark.usefixtures("prose_is_final")

Servers = Callable[..., list[ModelServer]]
PATIENT = Settings(llm_timeout=20)
REQUEST = lm15.Request(model="openai/m", messages=(lm15.Message.user("Hello?"),))


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ExitStack() as open_:
        yield lambda *scripts: [open_.enter_context(ModelServer(one, models=["m"])) for one in scripts]


def hello(_: Received) -> Reply:
    return text("hello")


def failing(reply: Reply) -> Callable[[Received], Reply]:
    return lambda _: reply


def asking(there: list[ModelServer], said: list[str], *, provider: str = "openai", **settings: Any) -> Any:
    """A model on these servers, each of which is asked again at once after it failed."""
    urls = [one.openai_url if provider == "openai" else one.url for one in there]
    lm: Any = configure_lm(provider, "m", urls, announce=said.append, settings=Settings(**settings))
    lm.engine.pool.pause_s = 0.01
    return lm


def where(run: Run) -> list[str | None]:
    return [one.server for one in run.calls]


def asked_with(tool: Callable[[], str], lm: Any, how: str) -> Run:
    """A run of two calls, with the tool between them."""

    def work() -> str:
        """Works."""
        return tool()

    agent = MicroAgent([work], lm, "native", demos=[])
    if how == "sync":
        return agent.ask("Work, please.")
    if how == "streamed":
        return agent.ask("Work, please.", on_event=lambda _: None)
    return asyncio.run(agent.aask("Work, please."))


@each("provider", ["openai", "ollama"])
@each("how", ["sync", "async", "streamed"])
def test_a_run_whose_server_dies_goes_on_at_another(provider: str, how: str) -> None:
    said: list[str] = []
    with ModelServer(two_calls, models=["m"]) as first, ModelServer(two_calls, models=["m"]) as second:
        lm = asking([first, second], said, provider=provider)

        def tool() -> str:
            first.close()
            return "done"

        run = asked_with(tool, lm, how)
        assert run.answer == "hello"
        assert where(run) == list(lm.engine.base_urls)
        assert [one.retries for one in run.calls] == [0, 0]
        assert len(said) == 1
        assert said[0].startswith(f"{lm.engine.base_url} is left out, and asked again later: cannot reach ")
        again = asked_with(lambda: "done", lm, how)
        assert where(again) == [lm.engine.base_urls[1]] * 2
        assert len(said) == 1
        assert [server.load for server in lm.engine.pool.servers] == [0, 0]


def test_runs_stay_where_they_are_and_go_to_the_least_loaded(servers: Servers) -> None:
    lm = asking(there := servers(two_calls, two_calls, two_calls), [])
    all_there = Barrier(6)

    def tool() -> str:
        all_there.wait(20)
        return "done"

    with ThreadPoolExecutor(6) as threads:
        begun = [threads.submit(asked_with, tool, lm, "sync") for _ in range(6)]
        runs = [one.result() for one in begun]
    assert all(len(set(where(run))) == 1 and len(run.calls) == 2 for run in runs)
    assert [len(one.chats) for one in there] == [4, 4, 4]


def test_64_threads_have_so_many_requests_a_server_and_no_more() -> None:
    with held(listed()) as one, held(listed()) as other:
        lm: Any = configure_lm("openai", "m", [one.url, other.url])
        assert at_once(lm, 24) == 48
        with ThreadPoolExecutor(64) as threads:
            calls = [threads.submit(lm.copy(seed=n), REQUEST) for n in range(64)]
            one.holds(24)
            other.holds(24)
            one.let_go.set()
            other.let_go.set()
            assert {call.result().message.text for call in calls} == {"hello"}
        assert (one.most, other.most) == (24, 24)
    assert at_once(configure_lm("mock"), 24) == 24


def test_who_waits_for_a_turn_in_vain_leaves_nobody_out() -> None:
    said: list[str] = []
    with held(listed()) as one, held(listed()) as other, ThreadPoolExecutor(2) as threads:
        lm: Any = configure_lm("openai", "m", [one.url, other.url], announce=said.append)
        at_once(lm, 1, samples=1)
        under_way = [threads.submit(lm.engine.complete, REQUEST) for _ in range(2)]
        one.holds(1)
        other.holds(1)
        with pytest.raises(LMTimeoutError), calling(CallScope(deadline=monotonic() + 0.05)):
            lm.engine.complete(REQUEST)
        one.let_go.set()
        other.let_go.set()
        assert [call.result().message.text for call in under_way] == ["hello", "hello"]
    assert said == []


@each(
    ("reply", "says"),
    [
        (error(503, "loading"), "answered 503"),
        (error(500, "boom"), "answered 500"),
        (error(401, "no"), "answered 401"),
        (error(404, "The model `m` does not exist", code="model_not_found"), "answered 404"),
        (malformed(), "sent no JSON"),
        (cut(5), "broke before the reply was complete"),
        (hang(5), "no reply from"),
    ],
)
def test_a_server_that_cannot_answer_what_another_can_is_left_out(reply: Reply, says: str) -> None:
    with ModelServer(failing(reply), models=["m"]) as bad, ModelServer(hello, models=["m"]) as good:
        for how in ("sync", "async"):
            said: list[str] = []
            lm = asking([bad, good], said, llm_timeout=0.3 if "no reply" in says else 20)
            run = asked_with(lambda: "", lm, how)
            assert (run.answer, where(run)) == ("hello", [good.openai_url])
            assert says in said[0]
            assert len(said) == 1
            assert [server.load for server in lm.engine.pool.servers] == [0, 0]


@each(
    ("reply", "code"),
    [
        (error(400, "temperature must be cold"), "BAD_REQUEST"),
        (error(500, "boom", retry_after=0), "SERVER_ERROR"),
        (error(501, "no"), "SERVER_ERROR"),
        (error(429, "slow", retry_after=0), "RATE_LIMITED"),
        (hang(5), "TIMEOUT"),
    ],
)
def test_a_request_that_two_servers_refuse_leaves_nobody_out(reply: Reply, code: str) -> None:
    with ExitStack() as open_:
        bad = [open_.enter_context(ModelServer(failing(reply), models=["m"])) for _ in range(3)]
        said: list[str] = []
        lm = asking(bad, said, llm_timeout=0.3 if code == "TIMEOUT" else 20)
        run = asked_with(lambda: "", lm, "sync")
        assert (run.error or {})["code"] == code
        assert said == []
        assert len(bad[2].chats) == 0


def test_what_a_model_said_in_a_refusal_is_read_and_its_server_stays(servers: Servers) -> None:
    said: list[str] = []
    body = {"error": {"code": "tool_use_failed", "message": "?", "failed_generation": "hello"}}
    lm = asking(servers(failing(raw(body, status=500)), hello), said)
    run = asked_with(lambda: "", lm, "sync")
    assert (run.answer, said) == ("hello", [])


def test_when_all_are_out_the_error_is_that_of_one_server() -> None:
    errors: list[Any] = []
    for count in (1, 2):
        with ExitStack() as open_:
            there = [open_.enter_context(ModelServer(hello, models=["m"])) for _ in range(count)]
            lm: Any = configure_lm("openai", "m", [one.openai_url for one in there], announce=lambda _: None)
        run = MicroAgent([], lm, demos=[], settings=Settings(llm_timeout=0.4)).ask("Hello?")
        assert run.status == "failed"
        errors.append({**(run.error or {}), "message": (run.error or {})["message"][:27]})
    assert errors[0] == errors[1]
    said: list[str] = []
    lm: Any = configure_lm("openai", "m", ["http://127.0.0.1:9/v1", "http://127.0.0.1:1/v1"], announce=said.append)
    assert [line.partition(",")[0] for line in said] == [f"{url} is left out" for url in lm.engine.base_urls]
    with pytest.raises(LMError, match="cannot reach http://127"):
        lm.engine.complete(REQUEST)


def test_a_server_that_comes_back_is_asked_again(servers: Servers) -> None:
    said: list[str] = []
    first, second = servers(hello, hello)
    lm = asking([first, second], said)
    url, server = lm.engine.base_urls[0], lm.engine.pool.servers[0]
    first.close()

    def asked(how: str = "sync") -> str | None:
        sleep(max(0.0, (server.due or 0.0) - monotonic()))
        return where(asked_with(lambda: "", lm, how))[0]

    assert [asked(), asked("async"), asked()] == [second.openai_url] * 3
    assert server.pause_s == 0.04
    assert len(said) == 1
    with held(listed("other"), free=True, port=int(url.split(":")[2][:-3])):
        assert [asked(), asked("async")] == [second.openai_url] * 2
    assert said[1:] == [
        f"{url} has another model now: its name is other, that of {url} m: it stays left out"
    ]  # fmt: skip
    for how in ("sync", "async"):
        with held(listed("m"), free=True, port=int(url.split(":")[2][:-3])):
            assert asked(how) == url
        assert said[-1] == f"{url} is back"
        assert where(asked_with(lambda: "", lm, how)) == [second.openai_url]
    second.close()
    with held(listed("m"), free=True, port=int(url.split(":")[2][:-3])):
        assert where(asked_with(lambda: "", lm, "sync")) == [url]


def test_one_call_finds_out_how_a_server_is_and_others_do_not_wait_for_it(servers: Servers) -> None:
    said: list[str] = []
    with held(listed()) as first:
        (second,) = servers(hello)
        lm: Any = configure_lm("openai", "m", [first.url, second.openai_url], announce=said.append, settings=PATIENT)
        server, lm.engine.pool.pause_s = lm.engine.pool.servers[0], 0.01
        seat = Seat()
        seat.until = monotonic() + 60
        with calling(CallScope(deadline=monotonic() + 0.1, seat=seat)):
            lm.engine.complete(REQUEST)
        assert len(said) == 1
        sleep(0.02)

        async def broken_off() -> None:
            twin = lm.engine.twin()
            trial = asyncio.create_task(twin.complete(REQUEST))
            await asyncio.to_thread(first.holds, 2)
            assert server.on_trial
            await twin.complete(REQUEST)
            trial.cancel()
            with pytest.raises(asyncio.CancelledError):
                await trial

        asyncio.run(broken_off())
        assert (server.on_trial, server.due is None, server.load) == (False, False, 0)
        assert len(second.chats) == 2


@each("streamed", ["sync", "async"])
def test_a_stream_is_begun_again_until_something_of_it_was_told(streamed: str) -> None:
    broken = cut(after_chunks=4, reply=text("Once upon a time there was a model"))
    with ExitStack() as open_:
        dead, breaks, good = (
            open_.enter_context(ModelServer(one, models=["m"])) for one in (hello, failing(broken), hello)
        )
        said: list[str] = []
        lm = asking([dead, good], said)
        dead.close()

        def told(lm: Any) -> list[Any]:
            if streamed == "sync":
                return list(lm.engine.stream(REQUEST))

            async def all_of() -> list[Any]:
                twin = lm.engine.twin()
                events = [event async for event in twin.stream(REQUEST)]
                await twin.aclose()
                return events

            return asyncio.run(all_of())

        events = told(lm)
        assert [type(one).__name__ for one in events].count("StreamStartEvent") == 1
        assert "".join(getattr(getattr(one, "delta", None), "text", "") for one in events) == "hello"
        sleep(0.02)
        assert told(lm)  # the dead one is looked for again
        with pytest.raises(LMError):
            told(asking([breaks, good], said))
        assert said[-1].startswith(f"{breaks.openai_url} is left out")
        assert len(good.chats) == 2


def test_text_that_was_shown_is_not_asked_for_again(servers: Servers) -> None:
    broken = cut(after_chunks=4, reply=text("Once upon a time there was a model"))
    said: list[str] = []
    lm = asking(servers(failing(broken), hello), said)
    shown: list[str] = []
    with pytest.raises(LMError) as failed, calling(CallScope(on_text=shown.append)):
        lm.engine.complete(REQUEST)
    assert failed.value.__dict__["emitted"] is True
    assert shown
    assert len(said) == 1


def test_the_time_of_the_run_bounds_what_another_server_gets(servers: Servers) -> None:
    lm = asking(servers(failing(hang(5)), hello), [], llm_timeout=0.1)
    seat = Seat()
    with pytest.raises(LMTimeoutError), calling(CallScope(deadline=monotonic() + 0.05)):
        lm.engine.complete(REQUEST)
    seat.until = monotonic() + 0.05
    with pytest.raises(LMTimeoutError), calling(CallScope(deadline=seat.until, seat=seat)):
        lm.engine.complete(REQUEST)
    seat.until = monotonic() + 20
    with calling(CallScope(deadline=monotonic() + 0.05, seat=seat)):
        assert lm.engine.complete(REQUEST).message.text == "hello"
    assert seat.at is lm.engine.pool.servers[1]
    seat.leave()
    assert [server.load for server in lm.engine.pool.servers] == [0, 0]
    with calling(CallScope(seat=seat)):  # a thread that nobody waits for any more
        lm.engine.complete(REQUEST)
    assert [server.load for server in lm.engine.pool.servers] == [0, 0]


def test_a_model_on_several_servers_is_saved_with_all_of_them(servers: Servers) -> None:
    there = servers(hello, hello)
    lm = asking(there, [], provider="ollama")
    loaded: Any = dspy.BaseLM.load_state(lm.dump_state(), allow_custom_lm_class=True)
    assert loaded.engine.base_urls == lm.engine.base_urls
    assert loaded.engine.num_ctx == 8192
    run = asked_with(lambda: "", loaded, "async")
    assert where(run) == [there[0].url]
    assert [one.path for one in there[1].requests[-1:]] == ["/api/show"]
    assert lm.copy(seed=3).engine.pool is lm.engine.pool
    assert loaded.engine.__deepcopy__({}) is loaded.engine
    twin = loaded.engine.twin()
    assert twin.__deepcopy__({}) is twin
    assert twin.model == "m"
    for one in (loaded.engine, twin):
        with pytest.raises(AttributeError):
            _ = one._unknown
    loaded.engine.close()


def test_several_replies_of_one_server_name_it(servers: Servers) -> None:
    there = servers(hello, hello)
    lm = asking(there, [], provider="ollama")
    run = MicroAgent([], lm, demos=[], samples=3).ask("Hello?")
    calls = [sample for one in run.calls for sample in (one, *one.samples)]
    assert len(calls) > 1
    assert {one.server for one in calls} == {there[0].url}
