"""A long run in a short context: on a server that drops what does not fit and says nothing, nothing is ever dropped."""

import asyncio
import base64
import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from benchmarks.bench_context import ARGS, LONG, breaks, coding_tools, ran, script, shown_of, small_tools
from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm, tool
from micro_agent.effects import Approval
from micro_agent.models.settings import Settings
from micro_agent.rules.coach import Coach
from micro_agent.run import CONTEXT_TRIMMED, Mode, Step
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, calls, decision, error, final, text
from micro_agent.testing.truncation import prompt_tokens
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.usefixtures("prose_is_final")

PAGE = 4096
SENTENCE = "The committee met again, and the results of the study were discussed at length without a decision. "
CONTENT: dict[str, Callable[[random.Random], str]] = {
    "prose": lambda chance: SENTENCE * (PAGE // len(SENTENCE)),
    "digits": lambda chance: "".join(chance.choices("0123456789", k=PAGE)),
    "Chinese": lambda chance: "".join(chance.choices("人生而自由在尊严和权利上一律平等他们赋有理性良心", k=PAGE // 3)),
    "base64": lambda chance: base64.b64encode(chance.randbytes(PAGE * 3 // 4)).decode(),
}


def reader(content: str = "prose") -> Tool:
    chance = random.Random(1)

    @tool(read_only=True)
    def read(page: int) -> str:
        """Read a page."""
        return f"Page {page}. {CONTENT[content](chance)} End of page {page}."

    return read


def asks(mode: Mode, name: str, args: dict[str, Any]) -> Reply:
    return call(name, args) if mode == "native" else decision(name, args)


def says(mode: Mode, words: str) -> Reply:
    return text(words) if mode == "native" else final(words)


def pages(count: int, mode: Mode, answer: str = "Read.") -> list[Reply]:
    return [*(asks(mode, "read", {"page": page}) for page in range(count)), says(mode, answer)]


def ollama(server: ModelServer, num_ctx: int = 8192, **options: Any) -> Any:
    settings = Settings(ollama_num_ctx=num_ctx)
    return configure_lm("ollama", "scripted", server.url, fallback=False, settings=settings, **options)


def trims(run: Run) -> list[Step]:
    return [step for step in run.steps if step.tool == CONTEXT_TRIMMED]


def sizes(chats: list[Received]) -> list[int]:
    return [prompt_tokens(chat.messages, (chat.body or {}).get("tools")) for chat in chats]


@pytest.mark.parametrize(
    ("mode", "content"),
    [
        ("native", "prose"), ("json", "Chinese"), ("native", "base64"),
        pytest.param("json", "prose", marks=pytest.mark.torture),
        pytest.param("native", "digits", marks=pytest.mark.torture),
    ],
)  # fmt: skip
def test_sixty_steps_of_4_kb_fit_in_8192_tokens(mode: Mode, content: str) -> None:
    seen: list[str] = []

    def model(request: Received) -> Reply:
        """Reads page after page, and at last says what the last one begins with, as it was shown."""
        last = next(one["content"] for one in reversed(request.messages) if one["role"] in ("tool", "user"))
        if last.startswith("Note"):  # a word of the loop follows the result
            last = request.messages[-2]["content"]
        seen.append(last)
        number = len(seen) - 1
        return asks(mode, "read", {"page": number}) if number < 60 else says(mode, last[last.index("Page") :][:8])

    with ModelServer(model, truncate=True) as server:
        agent = MicroAgent(tools=[reader(content)], lm=ollama(server), mode=mode, rules=[], limits=Limits(max_steps=61))
        run = agent.ask("What does the last of sixty pages begin with?")
        assert server.truncated == []
        assert max(sizes(server.chats)) <= 8192 - 1024
        assert breaks(server.chats) == len(trims(run)) <= 5
    assert (run.status, run.answer) == ("completed", "Page 59.")
    assert all(f"Page {page}." in shown and f"page {page}." in shown for page, shown in enumerate(seen[1:]))
    assert [len(step.observation) > PAGE * 0.3 for step in run.steps if step.is_tool] == [True] * 60


def test_a_server_with_less_than_it_was_taken_for_drops_the_question() -> None:
    """What the runs above are saved from: the double is as unkind as the real one."""
    script = iter(pages(6, "native"))

    def model(request: Received) -> Reply:
        lm.engine.num_ctx = 4096  # from the second request on
        return next(script)

    with ModelServer(model, truncate=True, context_length=100_000) as server:
        lm = ollama(server, 100_000)
        MicroAgent(tools=[reader()], lm=lm, mode="native", rules=[], limits=Limits(max_steps=9)).ask("Remember me?")
        assert "Remember me?" in [message["content"] for message in server.truncated[-1].dropped]
        assert server.truncated[-1].tokens > 4096


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_trim_is_on_record_and_makes_the_prompt_smaller(mode: Mode) -> None:
    with ModelServer(pages(12, mode), truncate=True) as server:
        agent = MicroAgent(tools=[reader()], lm=ollama(server, 4096), mode=mode, rules=[], limits=Limits(max_steps=40))
        run = agent.ask("?")
        trim = trims(run)[0]
        first = 1 + max(step.call or 0 for step in run.steps[: run.steps.index(trim)])
        before, after = server.chats[first - 1].messages, server.chats[first].messages
    assert (run.context_length, run.reply_reserve, trim.args["limit"]) == (4096, 1024, 4096)
    assert trim.args["tokens_before"] > 4096 - 1024 > trim.args["tokens_after"] > 0
    counted, estimated = run.calls[first].input_tokens or 0, run.calls[first].request["tokens"]
    assert 0 < counted <= trim.args["tokens_after"] <= estimated
    assert (trim.call, trim.ok, trim.error) == (None, True, None)
    assert after[-1]["content"].endswith(f"Note: {trim.observation}")
    assert "characters cut" in str(after)
    assert after[0] == before[0]
    kept = {cut["step"]: cut["chars"] for cut in trim.args["cut"]}
    assert list(kept) == list(range(trim.args["from"], run.steps.index(trim)))  # none is shown longer than it was
    question = next(message["content"] for message in after if message["content"].startswith("?"))
    assert question.count("\n- read") == min(trim.args["lines"], trim.args["from"])
    common = sum(one == other for one, other in zip(before, after, strict=False)) - 1
    assert run.calls[first].request["shared"] == common
    assert len(run.calls[first].request["chain"]) == run.calls[first].request["messages"] - common


def test_every_call_keeps_its_result_after_a_trim() -> None:
    script = [
        *[calls(*[("read", {"page": 10 * turn + page}) for page in range(3)]) for turn in range(8)],
        text("Read."),
    ]
    with ModelServer(script, truncate=True) as server:
        limits = Limits(max_steps=40)
        run = MicroAgent(tools=[reader()], lm=ollama(server, 4096), mode="native", rules=[], limits=limits).ask("?")
        assert (run.status, len(trims(run)) > 0, server.truncated) == ("completed", True, [])
        for chat in server.chats:
            for index, message in enumerate(chat.messages):
                count = len(message.get("tool_calls") or ())
                assert [m["role"] for m in chat.messages[index + 1 : index + 1 + count]] == ["tool"] * count
            assert sum(len(m.get("tool_calls") or ()) for m in chat.messages) == sum(
                m["role"] == "tool" for m in chat.messages
            )


def test_roles_alternate_in_json_mode_after_a_trim() -> None:
    with ModelServer(pages(14, "json"), truncate=True) as server:
        limits = Limits(max_steps=40)
        run = MicroAgent(tools=[reader()], lm=ollama(server, 4096), mode="json", rules=[], limits=limits).ask("?")
        roles = [[message["role"] for message in chat.messages] for chat in server.chats]
    assert trims(run)
    assert all(one != other for chat in roles for one, other in pairwise(chat))


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_run_that_paused_is_shown_as_if_it_had_not(mode: Mode, store: TraceStore) -> None:
    asked: dict[bool, list[Received]] = {}
    for pauses in (False, True):
        read = reader()
        sure = Tool(read.name, read.description, read.parameters, read.handler, requires_confirmation=_eleventh)
        with ModelServer(pages(14, mode), truncate=True) as server:
            lm, confirm = ollama(server, 4096), "pause" if pauses else "all"
            limits = Limits(max_steps=40)
            agent = MicroAgent([sure], lm, mode, [], limits, store if pauses else None, confirm=confirm)
            run = agent.ask("?")
            if pauses:
                assert (run.status, bool(trims(run))) == ("confirmation_required", True)
                run = MicroAgent([sure], ollama(server, 4096), mode, [], limits, store).resume(
                    run.id, Approval("approve")
                )
            asked[pauses] = server.chats
        assert (run.status, run.context_length) == ("completed", 4096)
    assert [chat.messages for chat in asked[True]] == [chat.messages for chat in asked[False]]


def _eleventh(args: dict[str, Any]) -> bool:
    return args["page"] == 11


def test_a_prompt_that_cannot_fit_is_never_sent() -> None:
    with ModelServer([text("Never.")], truncate=True) as server:
        run = MicroAgent(tools=[], lm=ollama(server, 2048), rules=[]).ask(SENTENCE * 400)
        assert server.chats == []
    assert (run.status, run.termination_reason, run.calls) == ("stopped", "context_overflow", [])
    assert run.error is not None
    assert run.error["code"] == "CONTEXT_OVERFLOW"
    need, head, reply, over, has = map(int, _numbers(run.error["message"]))
    assert (need + reply - has, has, reply) == (over, 2048, 128)
    assert 0 < head < need
    assert "OLLAMA_NUM_CTX" in run.error["message"]


def _numbers(words: str) -> list[str]:
    return [word for word in words.replace("(", " ").replace(":", " ").split() if word.isdigit()]


def test_tools_that_do_not_fit_end_the_run_too() -> None:
    many = [Tool(f"tool_{n}", SENTENCE, {"type": "object", "properties": {}}, dict) for n in range(60)]
    with ModelServer([text("Never.")], truncate=True) as server:
        run = asyncio.run(MicroAgent(tools=many, lm=ollama(server, 2048), rules=[], mode="native").aask("?"))
        assert (run.termination_reason, server.chats) == ("context_overflow", [])


def test_a_reply_gets_less_before_anything_needed_is_cut() -> None:
    """3000 tokens of reply are a quarter of 8192 at most; what the prompt takes beyond three quarters is not there."""
    with ModelServer(pages(4, "native"), truncate=True) as server:
        lm, limits = ollama(server, max_tokens=5000), Limits(max_steps=5)
        run = MicroAgent(tools=[reader()], lm=lm, mode="native", rules=[], limits=limits).ask("?")
        predicted = [(chat.body or {})["options"]["num_predict"] for chat in server.chats]
        assert all(size + most <= 8192 for size, most in zip(sizes(server.chats), predicted, strict=True))
    assert (predicted[0], run.reply_reserve, trims(run)) == (5000, 2048, [])
    assert 2048 <= predicted[-1] < 5000
    assert [made.settings.get("max_tokens", 5000) for made in run.calls] == predicted


@pytest.mark.parametrize("max_steps", [6, 25])
@pytest.mark.parametrize("mode", ["native", "json"])
def test_with_14_tools_a_first_result_of_3030_characters_is_shown_whole(mode: Mode, max_steps: int) -> None:
    _, chats, dropped = ran(coding_tools(), script(mode, "read_file", ["path"], 1), mode, max_steps)
    assert (len(chats), dropped) == (2, 0)
    assert shown_of(chats, LONG) == len(LONG) == 3030


@pytest.mark.parametrize("mode", ["native", "json"])
def test_with_40_small_tools_the_model_is_asked(mode: Mode) -> None:
    run, chats, dropped = ran(small_tools(40), script(mode, "tool_1", ARGS, 1), mode, 6)
    assert (run.status, len(chats), dropped) == ("completed", 2, 0)


@pytest.mark.torture
@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_long_run_in_a_short_context_is_trimmed_five_times(mode: Mode) -> None:
    run, chats, dropped = ran([reader()], pages(60, mode), mode, 61, 4096)
    assert (run.status, dropped) == ("completed", 0)
    assert breaks(chats) == len(trims(run)) <= 5


@pytest.mark.parametrize("mode", ["native", "json"])
def test_25_steps_with_14_tools_and_results_of_2_kb_are_trimmed_four_times_at_most(mode: Mode) -> None:
    tools = coding_tools((SENTENCE * 21)[:2048])
    run, chats, dropped = ran(tools, script(mode, "read_file", ["path"], 24), mode, 25)
    assert (run.status, dropped) == ("completed", 0)
    assert 0 < breaks(chats) == len(trims(run)) <= 4


def test_after_a_trim_only_the_latest_result_says_how_the_run_stands() -> None:
    with ModelServer(pages(12, "native"), truncate=True) as server:
        coach = Coach(record={"kind": "own"}, state=lambda run: f"This was step {len(run.steps)}.")
        agent = MicroAgent([reader()], ollama(server), "native", [], Limits(max_steps=13), coach=coach)
        run = agent.ask("What does the report say?")
    assert (run.status, server.truncated) == ("completed", [])
    cut = next(at for at, two in enumerate(pairwise(server.chats), 1) if breaks([*two]))
    before, first, later = (str(server.chats[at].messages) for at in (cut - 1, cut, cut + 1))
    assert [said.count("This was step ") for said in (before, first, later)] == [cut - 1, 1, 2]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_in_a_short_run_each_result_is_whole_when_it_comes_and_the_oldest_are_cut(mode: Mode) -> None:
    run, chats, dropped = ran([reader()], pages(5, mode), mode, 6, 4096)
    assert (run.status, dropped) == ("completed", 0)
    results = [str(step.observation) for step in run.steps if step.is_tool]
    for chat, result in zip(chats[1:], results, strict=True):
        assert any(result in str(message["content"]) for message in chat.messages[-2:])
    assert "characters cut" in str(chats[-1].messages)


@pytest.mark.parametrize(
    ("mode", "content"),
    [
        ("json", "prose"), ("native", "digits"), ("json", "Chinese"),
        *(pytest.param(*other, marks=pytest.mark.torture)
          for other in (("native", "prose"), ("json", "digits"), ("native", "Chinese"))),
    ],
)  # fmt: skip
def test_a_server_that_counts_only_what_it_has_not_cached_is_not_sent_too_much(mode: Mode, content: str) -> None:
    """As some versions of Ollama do; the head may have been cached by a run before."""
    before: list[list[Any]] = [[]]
    replies = iter(pages(40, mode))

    def model(request: Received) -> Reply:
        cached = sum(one == other for one, other in zip(request.messages, before[-1], strict=False))
        before.append(request.messages)
        return next(replies).with_(usage=(prompt_tokens(request.messages[cached:]), 5))

    with ModelServer(model, truncate=True) as server:
        agent = MicroAgent([reader(content)], ollama(server, 4096), mode, [], Limits(max_steps=41))
        run = agent.ask("?")
        assert (run.status, server.truncated) == ("completed", [])


def test_where_the_schema_may_be_told_the_first_count_says_whether_it_is() -> None:
    """vLLM, say: nothing tells before whether the schema of a reply becomes part of the prompt."""
    replies = iter([*pages(1, "json"), *pages(1, "json")])

    def model(request: Received) -> Reply:
        return next(replies).with_(usage=(prompt_tokens(request.messages) * 3 // 4, 5))

    with ModelServer(model) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, settings=Settings(context_length=8192))
        agent = MicroAgent([*coding_tools(), reader()], lm, "json", [], settings=Settings(context_length=8192))
        first, second = agent.ask("?"), agent.ask("?")
        assert reader()(page=0) in str(server.messages(1)[-1]["content"])
    assert first.calls[0].request["tokens"] > 1.4 * second.calls[0].request["tokens"]
    assert "format" not in first.calls[0].request
    assert second.calls[0].request["format"] == "grammar"


@pytest.mark.parametrize(("mode", "num_ctx"), [("native", 2600), ("json", 1400)])
def test_a_prompt_that_may_fit_is_sent(mode: Mode, num_ctx: int) -> None:
    """Nobody counts here, and by the estimate nothing would fit; the server takes it."""
    replies = iter(script(mode, "read_file", ["path"], 3))

    def model(request: Received) -> Reply:
        return next(replies).with_(usage=None)

    with ModelServer(model) as server:
        agent = MicroAgent(coding_tools(SENTENCE * 3), ollama(server, num_ctx), mode, [], Limits(max_steps=6))
        run = agent.ask("?")
        shown = [str(chat.messages[-1]["content"]) for chat in server.chats[1:]]
    assert (run.status, trims(run), run.calls[0].request["tokens"] > num_ctx - 128) == ("completed", [], True)
    assert all(SENTENCE * 3 in one for one in shown)


def test_a_prompt_that_may_fit_once_all_is_cut_is_sent() -> None:
    """By the estimate even the line that is left of a result is too long; nobody counts, and the server takes it."""

    def asked(num_ctx: int) -> Run:
        replies = iter(script("native", "read_file", ["path"], 3))
        with ModelServer(lambda request: next(replies).with_(usage=None)) as server:
            lm = ollama(server, num_ctx).copy(max_tokens=100)
            return MicroAgent(coding_tools(SENTENCE * 3), lm, "native", [], Limits(max_steps=6)).ask("?")

    head = asked(8192).calls[0].request["tokens"]
    run = asked(head + 130)
    assert (run.status, len(run.calls)) == ("completed", 4)
    assert [trim.args["tokens_after"] > head + 30 for trim in trims(run)] == [True] * 3


def test_ollama_is_asked_to_refuse_what_does_not_fit() -> None:
    words = "the input length exceeds the context length"
    with ModelServer([error(400, words)] * 3) as server:
        run = MicroAgent([], ollama(server, 2048), rules=[]).ask(SENTENCE * 100)
        assert [(chat.body or {})["truncate"] for chat in server.chats] == [False]
    assert (run.status, run.termination_reason) == ("stopped", "context_overflow")
    assert words in (run.error or {})["message"]


def test_a_prompt_that_the_server_may_have_cut_is_not_sent_again() -> None:
    """An older Ollama cuts whatever it was asked; its count is far too small for what was sent."""
    with ModelServer([decision("read", {"page": 1}), final("Never.")], truncate=True) as server:
        run = MicroAgent([reader()], ollama(server, 1024), "json", [], demos=[]).ask(SENTENCE * 35)
        assert (len(server.chats), len(server.truncated)) == (1, 1)
    assert (run.status, run.termination_reason) == ("stopped", "context_overflow")


def test_a_result_that_is_too_long_for_any_context_is_cut_when_it_comes() -> None:
    @tool(max_chars=400_000)
    def dump() -> str:
        """Dump it."""
        return "start " + "word " * 50_000 + "end"

    with ModelServer([call("dump", {}), text("Long.")], truncate=True) as server:
        run = MicroAgent(tools=[dump], lm=ollama(server), mode="native", rules=[]).ask("?")
        shown = server.messages(-1)[-1]["content"]
        assert (run.status, trims(run), server.truncated) == ("completed", [], [])
    assert shown.startswith("start word")
    assert shown.endswith("word end")
    assert f"[{250_009 - _kept(shown)} characters cut]" in shown
    assert len(run.steps[0].observation) == 250_009


def _kept(shown: str) -> int:
    head, _, rest = shown.partition("… [")
    return len(head) + len(rest.partition("] …")[2])


def test_long_words_of_the_model_are_cut_as_well() -> None:
    chatter = "I think that this is so. " * 700
    script = [call("read", {"page": 1}, text=chatter), text('{"name": "read", "arguments": ' + chatter), text("Done.")]
    with ModelServer(script, truncate=True) as server:
        run = MicroAgent(tools=[reader()], lm=ollama(server, 4096), mode="native", rules=[]).ask("?")
        assert (run.status, run.answer, server.truncated) == ("completed", "Done.", [])
        assert server.messages(-1)[-2]["role"] == "assistant"
        assert "characters cut" in server.messages(-1)[-2]["content"]


def test_a_call_with_long_arguments_is_named_in_a_line_at_last() -> None:
    @tool
    def write(content: str) -> str:
        """Write a file."""
        return f"{len(content)} characters written"

    script = [*[call("write", {"content": SENTENCE * 90}) for _ in range(3)], text("Written.")]
    with ModelServer(script, truncate=True) as server:
        run = MicroAgent(tools=[write], lm=ollama(server, 4096), mode="native", rules=[]).ask("Write it.")
        assert (run.status, server.truncated) == ("completed", [])
        question = server.messages(-1)[1]["content"]
    assert question.startswith("Write it.\n\nNote: You have done this already")
    assert question.count('\n- write {"content": "The committee met again') == 3
    assert [len(step.args["content"]) for step in run.steps if step.is_tool] == [len(SENTENCE) * 90] * 3


def test_a_server_that_counts_more_than_we_do_teaches_it() -> None:
    """Random words are what the estimate knows least about; the first counts that come back put it right."""
    chance = random.Random(7)

    @tool
    def read(page: int) -> str:
        """Read a page."""
        return " ".join("".join(chance.choices("bcdfghjklmnpqrstvwxz", k=5)) for _ in range(700))

    def model(request: Received) -> Reply:
        count = 2 * prompt_tokens(request.messages, (request.body or {}).get("tools"))
        counted.append(count)
        reply = call("read", {"page": len(counted)}) if len(counted) <= 30 else text("Read.")
        return reply.with_(usage=(count, 5))

    counted: list[int] = []
    with ModelServer(model) as server:
        run = MicroAgent(tools=[read], lm=ollama(server), mode="native", rules=[], limits=Limits(max_steps=40)).ask("?")
    assert run.status == "completed"
    assert max(counted) <= 8192
    assert max(made.request["tokens"] for made in run.calls) < 5000


LIMIT = "This model's maximum context length is 3000 tokens. However, your messages resulted in 9000 tokens."


def _refusing(most: int, words: str, mode: Mode = "native") -> Callable[[Received], Reply]:
    """A model that reads eight pages on a server that refuses what is longer than ``most``."""
    answered: list[int] = []

    def script(request: Received) -> Reply:
        if prompt_tokens(request.messages, (request.body or {}).get("tools")) > most:
            return error(400, words, code="context_length_exceeded")
        answered.append(1)
        return pages(8, mode)[len(answered) - 1]

    return script


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_refusal_that_names_the_limit_teaches_it(asynchronous: bool) -> None:
    lm = ScriptedLM(_refusing(3000, LIMIT))
    agent = MicroAgent(tools=[reader()], lm=lm, rules=[], limits=Limits(max_steps=20))
    run = asyncio.run(agent.aask("?")) if asynchronous else agent.ask("?")
    assert (run.status, run.answer, run.context_length) == ("completed", "Read.", None)
    learned, *later = trims(run)
    assert (learned.args["limit"], learned.args["reserve"], learned.args["refused"]) == (3000, 750, True)
    assert all("refused" not in trim.args for trim in later)
    assert len(lm.requests) == len(run.calls) + 1
    again = agent.ask("once more")
    assert (again.context_length, again.reply_reserve) == (3000, 750)


def test_a_refusal_without_a_number_cuts_to_three_quarters() -> None:
    lm = ScriptedLM(_refusing(4000, "the prompt is too long: reduce the length of the messages"))
    run = MicroAgent(tools=[reader()], lm=lm, rules=[], limits=Limits(max_steps=20)).ask("?")
    assert (run.status, run.context_length) == ("completed", None)
    trim = trims(run)[0]
    assert trim.args["refused"] is True
    assert trim.args["tokens_after"] <= 0.75 * trim.args["tokens_before"]
    assert MicroAgent(tools=[], lm=lm, rules=[]).ask("?").context_length is None


def test_a_server_that_refuses_whatever_is_sent_is_asked_three_times() -> None:
    refusals = [error(400, "too many tokens in the prompt", code="context_length_exceeded")] * 9
    lm = ScriptedLM([*pages(3, "native")[:3], *refusals])
    run = MicroAgent(tools=[reader()], lm=lm, rules=[], limits=Limits(max_steps=20)).ask("?")
    assert (run.status, run.termination_reason, len(lm.requests)) == ("stopped", "context_overflow", 6)
    assert len(trims(run)) == 2


def test_a_refusal_of_the_question_alone_ends_the_run_with_the_servers_words() -> None:
    lm = ScriptedLM([error(400, LIMIT, code="context_length_exceeded")] * 3)
    run = MicroAgent(tools=[], lm=lm, rules=[]).ask(SENTENCE * 200)
    assert (run.status, run.termination_reason, len(lm.requests)) == ("stopped", "context_overflow", 1)
    assert run.error is not None
    assert "maximum context length is 3000" in run.error["message"]


def test_where_the_reply_alone_was_too_long_it_is_made_shorter() -> None:
    """A server such as vLLM adds both up: the prompt fits, with less kept for the reply."""
    words = "This model's maximum context length is 1500 tokens. However, you requested 1900 tokens."
    with ModelServer([error(400, words), text("Short.")]) as server:
        lm = configure_lm("openai", "scripted", server.openai_url)
        run = MicroAgent(tools=[], lm=lm, rules=[], mode="native").ask(SENTENCE * 35)
        asked = [(chat.body or {})["max_tokens"] for chat in server.chats]
        assert server.chats[0].messages == server.chats[1].messages
    assert (run.answer, asked[0], len(trims(run))) == ("Short.", 1024, 1)
    assert 128 <= asked[1] < 1024


def test_a_length_from_the_settings_holds_for_any_model() -> None:
    lm = ScriptedLM(pages(12, "native"))
    settings = Settings(context_length=3000)
    agent = MicroAgent(tools=[reader()], lm=lm, rules=[], limits=Limits(max_steps=20), settings=settings)
    run = agent.ask("?")
    assert (run.status, run.context_length, len(trims(run)) > 0) == ("completed", 3000, True)
    assert max(made.request["tokens"] for made in run.calls) <= 3000 - 750


def test_nothing_is_cut_where_no_length_is_known() -> None:
    lm = ScriptedLM(pages(12, "native"))
    run = MicroAgent(tools=[reader()], lm=lm, rules=[], limits=Limits(max_steps=20)).ask("?")
    assert (run.context_length, run.reply_reserve, trims(run)) == (None, None, [])
    assert "characters cut" not in json.dumps(lm.messages(-1), ensure_ascii=False)
