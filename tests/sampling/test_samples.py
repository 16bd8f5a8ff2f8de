"""Several replies to each request: how many are asked for, when, and which of them is taken."""

import asyncio
import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dspy
import pytest

from micro_agent import Limits, MicroAgent, Run, configure_lm, tool
from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError
from micro_agent.models import load_settings
from micro_agent.run import CONTEXT_TRIMMED, FINISH_ASKED, MAKE_ASKED, MALFORMED_DECISION, NO_ACTION, Mode
from micro_agent.streaming import AnswerText, Ended, StepTaken
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, calls, error, final, hang, text
from tests.sampling.playing import Letters, Says, ask, not_rome, sampling, served, weather, without_sampling

MODES = pytest.mark.parametrize("mode", ["native", "json"])
ASYNC = pytest.mark.parametrize("asynchronous", [False, True])
COLOUR = "Which colour does the sky have?"
UNREADABLE = text('{"name": "weather", "arguments": {')
OSLO = call("weather", {"city": "Oslo"})


def chosen(*replies: Reply, samples: int, question: str = COLOUR, **options: Any) -> tuple[int, int, Run]:
    """Of the replies to the first request which is taken, and how many there were."""
    run, _ = ask(*replies, samples=samples, question=question, **options)
    first = run.calls[0]
    return (first.chosen or {"index": 0})["index"], len(first.samples) + 1, run


# ------------------------------------------------------------------ how many are asked for


@ASYNC
@MODES
def test_two_that_agree_are_enough(mode: Mode, asynchronous: bool) -> None:
    says = Says(mode)
    run, sent = ask(says.answer("Blue."), says.answer("Blue"), samples=5, question=COLOUR, mode=mode,
                    asynchronous=asynchronous)  # fmt: skip
    assert (run.answer, len(sent), run.usage.lm_calls, len(run.calls)) == ("Blue.", 2, 2, 1)
    assert run.calls[0].chosen == {"index": 0, "agree": 2, "unusable": [], "ungrounded": []}


@ASYNC
@pytest.mark.parametrize("samples", [2, 3, 4, 5, 7])
def test_where_no_two_agree_as_many_are_asked_for_as_may_be(samples: int, asynchronous: bool) -> None:
    colours = ["Blue.", "Red.", "Green.", "Black.", "White.", "Grey.", "Pink."]
    run, sent = ask(*map(text, colours), samples=samples, question=COLOUR, asynchronous=asynchronous)
    assert (len(sent), run.usage.lm_calls, run.answer) == (samples, samples, "Blue.")
    assert {one.reply["text"] for one in run.calls[0].samples} == set(colours[1:samples])
    assert len(set(map(without_sampling, sent))) == 1
    seeds, warmth = zip(*sampling(sent), strict=True)
    assert seeds[:3] == (None, 1, 2)[:samples]
    assert sorted(seeds[1:]) == list(range(1, samples))
    assert warmth == (0.2, *[0.7] * (samples - 1))


def test_each_request_has_its_samples() -> None:
    run, sent = ask(OSLO, OSLO, text("Overcast."), text("It is overcast."), samples=3)
    assert [len(one.samples) for one in run.calls] == [1, 1]
    assert ([step.tool for step in run.steps], run.answer, len(sent)) == (["weather"], "Overcast.", 4)
    assert len(sent[2].messages) == len(sent[0].messages) + 2


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLES", "3")
    run, sent = ask(text("Blue."), text("Red."), text("Green."), question=COLOUR)
    assert (len(sent), run.sampling) == (3, {"samples": 3, "resamples": 2})


def test_what_the_agent_is_told_counts_more_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLES", "3")
    run, sent = ask(text("Blue."), question=COLOUR, samples=1)
    assert (len(sent), run.answer, run.calls[0].samples) == (1, "Blue.", [])


@pytest.mark.parametrize("samples", [0, 21, -1, True, 2.0, "3", [3]])
def test_a_number_that_cannot_be_is_refused(samples: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"samples is .*: pass a whole number from 1 to 20"):
        MicroAgent([weather], lm=ScriptedLM([]), samples=samples)


@pytest.mark.parametrize(
    ("name", "value"), [("SAMPLES", "0"), ("SAMPLES", "21"), ("SAMPLES", "some"), ("RESAMPLES", "-1")]
)
def test_a_variable_that_cannot_be_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=rf"^{name} is .*{value}.*; allowed: a whole number from [01] to 20$"):
        load_settings()


# ------------------------------------------------------------------ which is taken


@pytest.mark.parametrize(
    ("replies", "index"),
    [
        pytest.param([UNREADABLE, text("Blue.")], 1, id="one that can be read"),
        pytest.param([text(""), text("Blue.")], 1, id="one that says something"),
        pytest.param([text("As in Rome."), text("Blue.")], 1, id="one that a rule takes"),
        pytest.param([call("weather", {"city": "Rome"}), text("Blue.")], 1, id="a call that a rule takes"),
        pytest.param([call("weather", {"town": "Oslo"}), text("Blue.")], 1, id="one that fits"),
        pytest.param([call("fax", {}), text("Blue.")], 1, id="one of a tool that is there"),
        pytest.param([calls(("weather", {"city": "Oslo"}), ("fax", {})), text("Blue.")], 1, id="one that all fits"),
        pytest.param([text("It has 17."), text("Blue.")], 1, id="one without a number from nowhere"),
        pytest.param([text("It has 17."), text("It has 17."), text("Red."), text("Blue.")], 2, id="rather than two"),
        pytest.param([UNREADABLE, text("It has 17.")], 1, id="what can be used rather than what is grounded"),
        pytest.param([text("It has 18."), text("17"), text("It has 19."), text("17.")], 1, id="what most say"),
        pytest.param([text("It has 18."), text("17."), text("It has 19.")], 0, id="the first"),
        pytest.param([text("Red."), UNREADABLE, text("Blue."), text("Blue")], 2, id="two that agree"),
    ],
)
def test_usable_grounded_frequent_first(replies: list[Reply], index: int) -> None:
    found, count, run = chosen(*replies, samples=len(replies), rules=[not_rome])
    assert (found, count, run.status) == (index, len(replies), "completed")
    assert run.answer == replies[index].text


@pytest.mark.parametrize("first", [call("weather", {"city": "Bergen"}), text("It is overcast."), text("16")])
def test_a_call_with_words_that_are_known_rather_than_another_or_an_early_answer(first: Reply) -> None:
    run, _ = ask(first, OSLO, *[text("It is overcast.")] * 2, samples=2, question="16 degrees in Oslo?")
    assert ([step.args for step in run.steps], run.answer) == ([{"city": "Oslo"}], "It is overcast.")
    assert run.calls[0].chosen is not None
    assert run.calls[0].chosen["index"] == 1


def test_an_answer_that_tells_what_was_found_rather_than_one_that_does_not() -> None:
    run, _ = ask(OSLO, OSLO, text("I know now."), text("It is overcast."), samples=2)
    assert (run.answer, run.calls[1].chosen and run.calls[1].chosen["ungrounded"]) == ("It is overcast.", [0])


def test_the_record_says_why() -> None:
    _, _, run = chosen(UNREADABLE, text("17."), text("Blue."), text("Green."), samples=4)
    assert run.calls[0].chosen == {"index": 2, "agree": 1, "unusable": [0], "ungrounded": [1]}
    assert [one.chosen for one in run.calls[0].samples] == [None] * 3


@MODES
def test_calls_agree_when_they_come_to_the_same(mode: Mode) -> None:
    says = Says(mode)
    named: list[dict[str, Any]] = [
        {"city": "Oslo", "days": "5"}, {"days": 5.0, "city": "Oslo"}, {"city": "Oslo", "days": 4},
    ]  # fmt: skip
    run, sent = ask(*(says.call("weather", args) for args in named[:2]), *[says.answer()] * 2, mode=mode, samples=4,
                    question="Oslo, 5 days?")  # fmt: skip
    assert ([step.args for step in run.steps], len(sent)) == ([{"city": "Oslo", "days": 5}], 4)
    run, sent = ask(*(says.call("weather", args) for args in (named[2], *named[:2])), *[says.answer()] * 2, mode=mode,
                    samples=4, question="Oslo, 4 or 5 days?")  # fmt: skip
    assert ([step.args["days"] for step in run.steps], len(sent)) == ([5], 5)


def test_several_calls_agree_as_one() -> None:
    both = calls(("weather", {"city": "Oslo"}), ("weather", {"city": "Bergen"}))
    run, sent = ask(OSLO, both, both, *[text("Overcast.")] * 2, samples=4, question="Oslo and Bergen?")
    assert ([step.args["city"] for step in run.steps], len(sent)) == (["Oslo", "Bergen"], 5)


def test_texts_agree_that_tell_the_same_of_what_was_found() -> None:
    said = ["Tomorrow it rains.", "It has 16 °C and is overcast.", "Overcast at 16 degrees, as I see."]
    run, sent = ask(OSLO, OSLO, *map(text, said), samples=5)
    assert (run.answer, len(sent), run.calls[1].chosen) == (
        said[1], 5, {"index": 1, "agree": 2, "unusable": [], "ungrounded": [0]},
    )  # fmt: skip


@MODES
def test_outputs_agree_by_value(mode: Mode) -> None:
    def gives(degrees: Any) -> Reply:
        outputs = {"degrees": degrees, "sure": True}
        return call("submit", outputs) if mode == "native" else final(outputs)

    options: dict[str, Any] = {"signature": "question -> degrees: float, sure: bool", "finish": "call", "mode": mode}
    run, sent = ask(gives(15.5), gives("16"), gives(16.0), samples=4, question="Is it 15.5, 16 or 17?", **options)
    assert (run.outputs, len(sent)) == ({"degrees": 16.0, "sure": True}, 3)
    run, sent = ask(gives(18.25), gives("warm"), gives(16), samples=3, question="Is it 15.5, 16 or 17?", **options)
    assert (run.outputs, run.calls[0].chosen and run.calls[0].chosen["unusable"]) == (
        {"degrees": 16, "sure": True},
        [1],
    )


def test_where_none_can_be_used_the_last_is_thrown_away_and_one_more_asked_for() -> None:
    run, sent = ask(text(""), UNREADABLE, text(""), text("Blue."), samples=2, question=COLOUR)
    assert (run.answer, len(sent), run.steps) == ("Blue.", 4, [])
    thrown = [one.fault and one.fault.tool for one in run.calls[0].samples]
    assert thrown == [None, MALFORMED_DECISION, NO_ACTION]


def test_what_comes_to_nothing_after_all_is_told_when_there_was_enough() -> None:
    run, sent = ask(*[text("")] * 4, text("Blue."), text("Blue"), samples=2, question=COLOUR)
    assert ([step.tool for step in run.steps], run.answer, len(sent)) == ([NO_ACTION], "Blue.", 6)


def test_a_tool_that_fails_gives_way_to_other_words() -> None:
    def fails(city: str) -> str:
        """Fail for Oslo."""
        if city == "Oslo":
            raise ValueError("no such city")
        return "overcast"

    flaky = tool(read_only=True)(fails)
    oslo, bergen = (call("fails", {"city": city}) for city in ("Oslo", "Bergen"))
    run, _ = ask(oslo, oslo, bergen, *[text("Overcast.")] * 2, samples=2, question="Oslo or Bergen?",
                 tools=[flaky])  # fmt: skip
    assert [(step.args["city"], step.ok) for step in run.steps] == [("Bergen", True)]
    assert [one.fault is not None for one in run.calls[0].samples] == [True, True]
    assert run.usage.tool_calls == 3


def test_a_call_that_changes_something_is_made_once() -> None:
    letters = Letters()
    named = [call("send", {"to": name}) for name in ("Luvira", "Luvir", "Luvir")]
    run, _ = ask(*named, text("Done."), text("Done"), samples=5, question="Write Luvir.", tools=[letters.tool])
    assert (letters.sent, run.usage.tool_calls) == ([("Luvir", "")], 1)


def test_one_from_nowhere_on_which_not_most_agree_is_sampled_beyond_the_number() -> None:
    letters = Letters()
    named = [call("send", {"to": name}) for name in ("Luvira", "Luvi", "Luv", "Luvir")]
    run, sent = ask(*named, text("Done."), text("Done"), samples=2, question="Write Luvir.", tools=[letters.tool])
    assert (letters.sent, len(run.calls[0].samples), len(sent)) == ([("Luvir", "")], 3, 6)


# ------------------------------------------------------------------ questions to the model


def test_only_what_was_chosen_is_asked_about() -> None:
    lm = ScriptedLM([text("Red."), text("Blue."), text("Blue")])
    run = MicroAgent([weather], lm=lm, rules=[], finish="ask", samples=3).ask(COLOUR)
    assert (run.answer, run.finished_by, [step.tool for step in run.steps]) == ("Blue.", "asked", [FINISH_ASKED])
    assert "Blue." in str(lm.requests[-1].messages)
    assert "Red." not in str(lm.requests[-1].messages)


@ASYNC
def test_a_call_inside_the_text_that_was_chosen_is_asked_about_once(asynchronous: bool) -> None:
    letters = Letters()
    inside = text('I write: {"name": "send", "arguments": {"to": "Luvir"}} So be it.')
    run, _ = ask(inside, inside, text("Done."), text("Done"), samples=3, question="Write Luvir.",
                 tools=[letters.tool], asynchronous=asynchronous)  # fmt: skip
    assert [step.tool for step in run.steps] == [MAKE_ASKED, "send"]
    assert letters.sent == [("Luvir", "")]


# ------------------------------------------------------------------ at once


class _Gate(ThreadingHTTPServer):
    """A model server that gives so many choices, and answers its fifth request and those beside it together."""

    daemon_threads = True

    def __init__(self, gives: int, together: int, refuses: Sequence[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.gives, self.together, self.refuses = gives, range(4, 4 + together), refuses
        self.barrier, self.lock = threading.Barrier(max(together, 1)), threading.Lock()
        self.wanted: list[int] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        gate = self.server
        assert isinstance(gate, _Gate)
        wanted = json.loads(self.rfile.read(int(self.headers["content-length"]))).get("n", 1)
        with gate.lock:
            number = len(gate.wanted)
            gate.wanted.append(wanted)
        if number in gate.together:
            gate.barrier.wait(timeout=60)
        refused = number in gate.refuses
        said = [f"Colour {'abcdefghijk'[number]}{index or ''}." for index in range(min(wanted, gate.gives))]
        usage = {"prompt_tokens": 10, "completion_tokens": 5 * len(said), "total_tokens": 10 + 5 * len(said)}
        told = {"id": "x", "object": "chat.completion", "created": 1, "model": "scripted", "usage": usage, "choices": [
            {"index": index, "message": {"role": "assistant", "content": one}, "finish_reason": "stop"}
            for index, one in enumerate(said)]}  # fmt: skip
        body = json.dumps({"error": {"message": "who are you?"}} if refused else told).encode()
        self.send_response(401 if refused else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def through(samples: int, *, gives: int = 1, together: int = 0, refuses: Sequence[int] = (),
            asynchronous: bool = False) -> tuple[Run, list[int]]:  # fmt: skip
    """The run, and how many replies each request asked for."""
    with _Gate(gives, together, refuses) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        lm = configure_lm("openai", "scripted", server.url, fallback=False)
        agent = MicroAgent([weather], lm=lm, rules=[], finish="text", samples=samples, mode="native")
        run = asyncio.run(agent.aask(COLOUR)) if asynchronous else agent.ask(COLOUR)
        server.shutdown()
        thread.join()
        return run, server.wanted


def colours(run: Run) -> list[str]:
    return sorted(one.reply["text"][7:-1] for one in run.calls[0].samples)


@ASYNC
def test_those_that_are_left_are_asked_for_in_one_request(asynchronous: bool) -> None:
    run, wanted = through(7, gives=10, asynchronous=asynchronous)
    assert (run.answer, colours(run), wanted) == ("Colour a.", ["b", "c", "d", "d1", "d2", "d3"], [1, 1, 1, 4])
    assert (run.usage.lm_calls, run.usage.input_tokens, run.usage.output_tokens) == (7, 40, 35)


@ASYNC
@pytest.mark.parametrize(("gives", "texts"), [(1, "bcdefg"), (2, ["b", "c", "d", "d1", "e", "f"])])
def test_those_that_the_server_did_not_give_are_asked_for_at_once(
    gives: int, texts: Sequence[str], asynchronous: bool
) -> None:
    run, wanted = through(7, gives=gives, together=4 - gives, asynchronous=asynchronous)
    assert (run.answer, colours(run), wanted) == ("Colour a.", [*texts], [1, 1, 1, 4, *[1] * (4 - gives)])
    assert len({one.settings["seed"] for one in run.calls[0].samples}) == 7 - gives
    assert (run.usage.lm_calls, run.usage.input_tokens, run.usage.output_tokens) == (7, 10 * len(wanted), 35)


@ASYNC
def test_those_that_fail_are_asked_for_once_more(asynchronous: bool) -> None:
    run, wanted = through(7, together=3, refuses=(4, 6), asynchronous=asynchronous)
    assert (run.status, run.answer, colours(run), len(wanted)) == ("completed", "Colour a.", [*"bcdfhi"], 9)
    assert run.usage.lm_calls == 7
    assert len({one.settings["seed"] for one in run.calls[0].samples}) == 6


@ASYNC
@pytest.mark.parametrize(("refuses", "texts"), [([3], "bc"), (range(4, 10), "bcd")])
def test_where_all_of_them_fail_the_best_of_the_others_is_taken(
    refuses: Sequence[int], texts: str, asynchronous: bool
) -> None:
    run, wanted = through(7, refuses=refuses, asynchronous=asynchronous)
    assert (run.status, run.answer, run.error, colours(run)) == ("completed", "Colour a.", None, [*texts])
    assert len(wanted) == refuses[-1] + 1


@ASYNC
def test_a_server_that_fails_for_a_while_is_asked_again(asynchronous: bool) -> None:
    busy = error(503, "busy", retry_after=0)
    run, sent = ask(text("Blue."), busy, text("Blue"), samples=3, question=COLOUR, asynchronous=asynchronous)
    assert (run.answer, len(sent), run.calls[0].samples[0].retries) == ("Blue.", 3, 1)


# ------------------------------------------------------------------ streaming


@MODES
def test_the_answer_is_streamed_as_a_whole_when_it_is_chosen(mode: Mode) -> None:
    says = Says(mode)
    script = [says.answer("Red as a rose."), says.answer("Blue as the sea."), says.answer("Blue, as the sea!")]
    with served(script, mode=mode, samples=3) as (agent, server):
        events = [(event, len(server.chats)) for event in agent.stream(COLOUR)]
    said = [(event.text, asked) for event, asked in events if isinstance(event, AnswerText)]
    assert ("".join(part for part, _ in said), {asked for _, asked in said} <= {3}) == ("Blue as the sea.", True)
    end = events[-1][0]
    assert isinstance(end, Ended)
    assert end.run.answer == "Blue as the sea."


def test_what_was_thrown_away_is_no_step_for_who_listens() -> None:
    with served([text(""), OSLO, text("Overcast.")]) as (agent, _):
        steps = [event.step.tool for event in agent.stream("Oslo?") if isinstance(event, StepTaken)]
    assert steps == ["weather"]


# ------------------------------------------------------------------ limits

PRICED = {"openai_input_price_per_1k": 1.0, "openai_output_price_per_1k": 1.0}
"""15 tokens, 0.015 US dollars for each reply."""


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        (Limits(max_tokens=15), 1),
        (Limits(max_tokens=30), 2),
        (Limits(max_tokens=40), 3),
        (Limits(max_cost=0.015), 1),
        (Limits(max_cost=0.02), 2),
        (Limits(max_bytes=4), 1),
    ],
)
def test_at_a_limit_the_best_so_far_is_the_answer(limits: Limits, asked: int) -> None:
    settings = load_settings().having(**PRICED)
    said = [text(word) for word in ("17.", "Blue.", "Green.", "Black.")]
    run, sent = ask(*said, samples=4, question=COLOUR, limits=limits, settings=settings)
    assert (run.status, run.answer, len(sent)) == ("completed", "17." if asked == 1 else "Blue.", asked)
    assert (len(run.calls[0].samples), run.calls[0].open) == (asked - 1, False)


def test_time_is_such_a_limit() -> None:
    lm = ScriptedLM([text("Blue."), text("Red.")])
    run = MicroAgent([weather], lm=lm, rules=[], samples=2, limits=Limits(max_time=1e-6), finish="text").ask(COLOUR)
    assert (run.status, run.answer, len(lm.requests)) == ("completed", "Blue.", 1)


@pytest.mark.parametrize(
    ("first", "ends"),
    [
        (text("Blue."), ("completed", "final", "Blue.")),
        (call("weather", {"city": "Oslo"}), ("stopped", "max_time", None)),
    ],
)
def test_an_answer_that_is_there_at_the_end_of_the_time_is_given(first: Reply, ends: Any) -> None:
    """The other reply does not come. A call would be nothing's answer."""
    limits = Limits(max_time=2)
    run, sent = ask(first, hang(60), samples=2, question=COLOUR, limits=limits)
    assert (run.status, run.termination_reason, run.answer) == ends
    assert len(sent) == 2


@pytest.mark.parametrize("asked", [1, 2])
def test_a_call_is_not_made_at_a_limit(asked: int) -> None:
    letters = Letters()
    script = [call("send", {"to": "Luvira"}), call("send", {"to": "Luvir"})]
    limits = Limits(max_tokens=15 * asked)
    run, sent = ask(*script, samples=3, question="Write Luvir.", tools=[letters.tool], limits=limits)
    assert (run.status, run.termination_reason, len(sent), letters.sent) == ("stopped", "max_tokens", asked, [])
    assert [(step.args, step.error) for step in run.steps] == [({"to": "Luvir" + "a" * (asked == 1)}, "NOT_RUN")]


@pytest.mark.parametrize("asked", [1, 2])
def test_at_a_limit_what_was_thrown_away_last_is_told(asked: int) -> None:
    run, sent = ask(UNREADABLE, text(""), text("Blue."), question=COLOUR, limits=Limits(max_tokens=15 * asked))
    assert (run.status, run.termination_reason, len(sent)) == ("stopped", "max_tokens", asked)
    assert [step.tool for step in run.steps] == [(MALFORMED_DECISION, NO_ACTION)[asked - 1]]
    assert (run.calls[0].fault, run.calls[0].open, len(run.calls[0].samples)) == (None, False, asked - 1)


def test_when_no_more_come_what_was_thrown_away_last_is_told() -> None:
    run, sent = ask(UNREADABLE, error(401, "who are you?"), text("Blue."), question=COLOUR)
    assert (run.status, run.answer, len(sent)) == ("completed", "Blue.", 3)
    assert ([step.tool for step in run.steps], run.calls[0].open) == ([MALFORMED_DECISION], False)
    assert len(sent[2].messages) > len(sent[1].messages)


def test_all_of_what_was_thrown_away_counts_towards_the_limits_of_later_requests() -> None:
    run, sent = ask(text(""), OSLO, text("Overcast."), limits=Limits(max_tokens=30))
    assert (run.termination_reason, len(sent), run.usage.input_tokens) == ("max_tokens", 2, 20)


def test_where_another_sample_has_no_room_the_model_is_told_and_what_is_old_is_cut() -> None:
    """The prompt has not grown, but the server has less room for it now."""
    too_long = "This model's maximum context length is 3600 tokens. However, your messages resulted in 3900 tokens."

    def page(number: int) -> str:
        """Read a page."""
        return f"Page {number}. " + "All happy families are alike. " * 60

    pages = [call("page", {"number": number}) for number in range(4)]
    run, sent = ask(*pages, text(""), error(400, too_long), text("Alike."), question="Read.",
                    tools=[tool(read_only=True)(page)])  # fmt: skip
    assert ([step.tool for step in run.steps[4:]], run.answer) == ([NO_ACTION, CONTEXT_TRIMMED], "Alike.")
    assert len(sent) == 7


def test_whoever_cancels_between_samples_leaves_nothing_open() -> None:
    cancel = Cancel()

    def model(request: Received) -> Reply:
        cancel.set()
        return UNREADABLE

    with served(model) as (agent, server):
        run = agent.ask(COLOUR, cancel=cancel)
        assert len(server.chats) == 1
    assert (run.status, run.termination_reason) == ("stopped", "cancelled")
    assert ([step.tool for step in run.steps], run.calls[0].open) == ([MALFORMED_DECISION], False)


def test_a_fault_in_a_model_of_the_users_own_is_raised_also_from_the_thread_of_a_further_sample() -> None:
    class Faulty(dspy.LM):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if threading.current_thread().name == "micro-agent sample":
                raise ZeroDivisionError("of the user's own")
            return super().__call__(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    words = iter(["red", "green", "blue", "grey", "black"])
    with ModelServer(lambda request: text(next(words))) as server:
        lm = Faulty("openai/m", api_base=server.openai_url, api_key="none", cache=False)
        with pytest.raises(ZeroDivisionError, match="of the user's own"):
            MicroAgent([], lm, samples=5, rules=[]).ask("Which colour?")
