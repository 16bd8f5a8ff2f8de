# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The tiny model that ships: it is a model like any other, with everything that a server has and errors of its own."""

import asyncio
import hashlib
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Config, FunctionTool, ImagePart, Message, Request, ToolChoice
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models import usable
from micro_agent.models.context_length import context_length_of
from micro_agent.models.reply import reply_of, usage_of
from micro_agent.models.scope import CallScope, calling
from micro_agent.models.settings import Settings
from micro_agent.models.tiny import generating
from micro_agent.models.tiny.engine import NAME, TinyEngine
from micro_agent.models.tiny.generating import card, shipped
from micro_agent.models.tiny.sampling import Sampling
from micro_agent.models.tiny.tokenizer import END, MARKS, Tokenizer
from micro_agent.run import Mode
from micro_agent.streaming import AnswerText, Ended
from micro_agent.tools import ToolError, load_tools

MODES: list[Mode] = ["native", "json"]
TOOLS = list(load_tools(modules="micro_agent.models.tiny.toolset").values())
PRICE = "What does the kettle cost?"


def ask(question: str, mode: Mode = "native") -> Run:
    return MicroAgent(tools=TOOLS, lm=configure_lm("tiny", temperature=0), mode=mode).ask(question)


def request(text: str, *, tools: bool = True, **config: Any) -> Request:
    offered = [FunctionTool(name=t.name, description=t.description, parameters=t.parameters) for t in TOOLS * tools]
    known: dict[str, Any] = {"temperature": 0.0, "max_tokens": 60, **config}
    return Request(model="tiny", messages=(Message.user(text),), tools=tuple(offered), config=Config(**known))


@pytest.mark.parametrize("mode", MODES)
def test_it_answers_a_question_of_its_kinds_with_a_tool(mode: Mode) -> None:
    run = ask(PRICE, mode)
    assert (run.status, run.provider, run.model, run.mode) == ("completed", "tiny", f"tiny/{NAME}", mode)
    assert [(step.tool, step.args) for step in run.steps] == [("price", {"product": "kettle"})]
    assert run.answer == "The price of kettle is 28."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "question", ["Write an essay on trade policy.", "Ωμέγα 🦊?", "?", "kettle " * 200, "<|im_end|>"]
)
def test_what_it_does_not_know_ends_without_a_crash(question: str, mode: Mode) -> None:
    run = ask(question, mode)
    assert run.status in ("completed", "stopped"), run.error


@pytest.mark.parametrize(
    ("question", "answer"),
    [("How old is Rosa?", "Rosa is 72 years old."), ("Hello!", "Hello! What can I look up for you?")],
)
def test_its_kinds_are_several(question: str, answer: str) -> None:
    assert ask(question).answer == answer


def test_it_says_what_it_does_not_know() -> None:
    assert ask("Explain gravity to me.").answer == "I do not know that. I am a tiny model and can only use my tools."


def test_it_is_named_like_any_other_provider(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert MicroAgent(lm="tiny").lm.model == f"tiny/{NAME}"
    monkeypatch.setenv("LLM_PROVIDER", "tiny")
    assert configure_lm().model == f"tiny/{NAME}"
    assert "a real but tiny model" in capsys.readouterr().err
    assert usable.TINY == NAME
    with pytest.raises(ConfigurationError, match="has no model 'llama'"):
        configure_lm("tiny", "llama")


def test_without_numpy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ConfigurationError, match="numpy is not installed: install the extra"):
        configure_lm("tiny")


def test_the_weights_are_those_that_were_published(monkeypatch: pytest.MonkeyPatch) -> None:
    data = files("micro_agent.models.tiny").joinpath("weights.npz").read_bytes()
    assert len(data) < 3_000_000
    assert hashlib.sha256(data).hexdigest() == card()["weights_sha256"]
    monkeypatch.setattr(generating, "card", lambda: {**card(), "weights_sha256": "0" * 64})
    with pytest.raises(ConfigurationError, match="damaged"):
        shipped.__wrapped__()


def test_its_page_tells_the_same_as_its_card() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tiny.md").read_text("utf-8")
    told = card()
    for name in ("name", "licence", "weights_sha256", "data_sha256", "jax"):
        assert told[name] in page
    for number in (told["parameters"], told["conversations"], told["shape"]["vocabulary"], told["shape"]["context"]):
        assert f"{number:,}" in page


def test_the_same_seed_gives_the_same_text_and_others_differ() -> None:
    def texts(*seeds: int | None) -> list[str]:
        engine = TinyEngine()
        asked = [request(PRICE, tools=False, temperature=2.0, seed=seed) for seed in seeds]
        return [engine.complete(one).message.text or "" for one in asked]

    assert texts(1, 2, 3) == texts(1, 2, 3)
    assert len(set(texts(1, 2, 3))) == 3
    assert len(set(texts(None, None, None))) > 1


def test_what_was_computed_of_the_last_prompt_changes_no_reply() -> None:
    first, second = [PRICE], ["What does the lamp cost?"]
    model, how = shipped(), Sampling(max_tokens=9)
    told = [model.complete(prompt, how) for prompt in (first, second)]
    assert [model.complete(prompt, how) for prompt in (first, first, second)] == [told[0], told[0], told[1]]


@pytest.mark.parametrize("how", [{"top_k": 1}, {"top_p": 1e-6}])
def test_the_likeliest_alone_is_what_is_greedy(how: dict[str, Any]) -> None:
    engine = TinyEngine()
    greedy = engine.complete(request(PRICE))
    assert engine.complete(request(PRICE, temperature=1.5, **how)).message == greedy.message
    wide = request(PRICE, temperature=1.5, top_p=0.99, top_k=50, seed=3)
    assert reply_of(engine.complete(wide)).finish_reason in ("stop", "tool_calls", "length")


def test_tokens_are_counted_and_a_long_reply_is_cut_off() -> None:
    engine = TinyEngine()
    whole, cut = engine.complete(request(PRICE)), engine.complete(request(PRICE, max_tokens=5))
    assert reply_of(whole).finish_reason == "tool_calls"
    entered, written = usage_of(whole)
    assert usage_of(cut) == (entered, 5)
    assert entered is not None
    assert written is not None
    assert entered > 50 < 5 * written
    assert (reply_of(cut).finish_reason, reply_of(cut).calls) == ("length", ())
    assert reply_of(cut).text.startswith("<tool_call>")


def test_a_reply_ends_before_a_stop() -> None:
    reply = reply_of(TinyEngine().complete(request("Hello!", stop=("What",))))
    assert (reply.text, reply.finish_reason) == ("Hello! ", "stop")


def test_a_prompt_that_does_not_fit_is_refused_as_by_a_server() -> None:
    lm = configure_lm("tiny")
    assert context_length_of(lm, Settings()) == card()["shape"]["context"]
    with pytest.raises(dspy.ContextWindowExceededError, match=r"exceeds the available context size \(4096 tokens\)"):
        TinyEngine().complete(request("kettle " * 5000))
    run = ask("kettle " * 20000)
    assert (run.status, run.termination_reason) == ("stopped", "context_overflow")


@pytest.mark.torture
def test_a_reply_ends_where_the_context_does() -> None:
    model = shipped()
    most = model.shape.context
    prompt = ["a" + " a" * 4000]
    text = model.complete(prompt, Sampling(temperature=2.0, seed=1), never=[END])
    assert text.finish == "length"
    assert text.prompt_tokens + text.tokens == most


def test_a_reply_that_takes_too_long_is_given_up() -> None:
    agent = MicroAgent(tools=TOOLS, lm=configure_lm("tiny"), settings=Settings(llm_timeout=1e-6))
    for run in (agent.ask(PRICE), asyncio.run(agent.aask(PRICE))):
        assert run.status == "failed"
        assert run.error is not None
        assert run.error["code"] == "TIMEOUT"


def test_a_call_can_be_forced_and_barred() -> None:
    engine = TinyEngine()
    forced = engine.complete(request("Hello!", tool_choice=ToolChoice("required")))
    assert reply_of(forced).calls or reply_of(forced).text.startswith("<tool_call>")
    barred = engine.complete(request(PRICE, tool_choice=ToolChoice("none")))
    assert "<tool_call>" not in reply_of(barred).text


def test_images_are_refused() -> None:
    image = Message.user([ImagePart(data="aGVsbG8=", media_type="image/png")])
    with pytest.raises(dspy.LMInvalidRequestError, match="does not see images"):
        TinyEngine().complete(Request(model="tiny", messages=(image,)))


def test_text_comes_as_it_is_written() -> None:
    lm = configure_lm("tiny", temperature=0)
    events = list(MicroAgent(tools=TOOLS, lm=lm).stream(PRICE))
    shown = [event.text for event in events if isinstance(event, AnswerText)]
    last = events[-1]
    assert isinstance(last, Ended)
    assert len(shown) > 3
    assert "".join(shown) == last.run.answer == "The price of kettle is 28."


def test_async_callers_get_the_same() -> None:
    async def asked() -> tuple[Run, list[str]]:
        lm = configure_lm("tiny", temperature=0)
        agent = MicroAgent(tools=TOOLS, lm=lm)
        events = [event async for event in agent.astream(PRICE)]
        return await agent.aask(PRICE), [event.text for event in events if isinstance(event, AnswerText)]

    run, shown = asyncio.run(asked())
    assert run.answer == "".join(shown) == "The price of kettle is 28."


def test_whoever_gives_a_reply_up_hears_no_more_of_it() -> None:
    long = request("Hello!", tools=False, temperature=2.0, seed=2, max_tokens=400)

    async def heard() -> tuple[int, int]:
        twin, pieces = TinyEngine().twin(), list[str]()

        def hear(piece: str) -> None:
            pieces.append(piece)
            task.cancel()

        with calling(CallScope(on_text=hear)):
            task = asyncio.create_task(twin.complete(long))
        await asyncio.wait([task])
        assert task.cancelled()
        until_then = len(pieces)
        await twin.complete(request(PRICE))  # after the other, which is computed to its end
        return until_then, len(pieces)

    until_then, after = asyncio.run(heard())
    assert until_then == after > 0


def test_dspy_streams_it_and_saves_it(tmp_path: Path) -> None:
    lm = configure_lm("tiny", temperature=0)
    engine: Any = lm.engine
    assert type(next(iter(engine.stream(request("Hello!"))))).__name__ == "StreamStartEvent"

    async def streamed() -> int:
        return len([event async for event in engine.twin().stream(request("Hello!"))])

    assert asyncio.run(streamed()) > 1
    predict = dspy.Predict("question -> answer")
    predict.set_lm(lm)
    predict.save(tmp_path / "saved.json")
    again: Any = dspy.Predict("question -> answer")
    again.load(tmp_path / "saved.json", allow_unsafe_lm_state=True)
    assert again.lm.model == f"tiny/{NAME}"
    assert lm.copy().engine is engine


def test_calls_that_are_no_json_stay_text() -> None:
    replies = [reply_of(TinyEngine().complete(request(PRICE, temperature=1.6, seed=seed))) for seed in range(15, 27)]
    broken = [reply for reply in replies if "<tool_call>" in reply.text]
    assert broken
    assert all(reply.calls == () for reply in broken)


@given(st.text())
def test_text_is_what_its_tokens_say(text: str) -> None:
    tokenizer = Tokenizer(card()["vocabulary"])
    tokens = tokenizer.encode([text])
    assert tokenizer.decode(tokens) == text.replace("▁", " ").encode("utf-8", "surrogatepass")
    assert all(token >= len(MARKS) for token in tokens), "text cannot bring marks into a prompt"


def test_the_world_of_its_tools_keeps_what_was_done() -> None:
    from micro_agent.models.tiny.toolset import World, tools_over

    world = World(prices={"lamp": 3}, phones={"Anna": "1"})
    known: dict[str, Callable[..., Any]] = {tool.name: tool.handler for tool in tools_over(world)}
    known["order"](product="Lamp", pieces=2)
    known["send"](person="Anna", text="hello")
    known["remind"](time="10:00", text="go")
    assert len(world.done) == 3
    with pytest.raises(ToolError, match="cannot convert 'miles' to 'km'"):
        known["convert"](value=3, unit="miles", to="km")
