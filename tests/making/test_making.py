"""When the model is asked if a call inside its text shall be made, what is sent, and what every answer leads to."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.cancel import Cancel
from micro_agent.context.tokens import estimate
from micro_agent.effects import Approval, Question
from micro_agent.errors import ToolDefinitionError
from micro_agent.models.settings import Settings
from micro_agent.replay import describe, fork, verify
from micro_agent.replay.show import statistics
from micro_agent.rules import BeforeFinish, Event, Stop, Verdict, Violation
from micro_agent.rules.asking_again import ASKING
from micro_agent.run import CONFIRMATION_REQUIRED, FINISH_ASKED, MAKE_ASKED, MALFORMED_DECISION, Mode
from micro_agent.streaming import AnswerText, StepTaken
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, error, final, text
from micro_agent.tools import tool
from micro_agent.traces import TraceStore

MODES = pytest.mark.parametrize("mode", ["native", "json"])
YES, NO = text('{"make": true}'), text('{"make": false}')
ONE = 'Your reply holds a call of write inside text. Shall it be made now? Reply {"make": true} or {"make": false}.'
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}


def said(name: str, path: str = "a") -> str:
    return json.dumps({"tool": {"name": name, "args": {"path": path}}})


INSIDE = text(f"I could write it, like this: {said('write')} What do you think?")
MARKED = text('<tool_call>{"name": "drop", "arguments": {"path": "a"}}</tool_call>')


@dataclass
class Desk:
    """Tools that note what they were really called with."""

    done: list[str] = field(default_factory=list[str])

    def tool(self, name: str, **options: Any) -> Tool:
        def run(path: str) -> str:
            self.done.append(f"{name} {path}")
            return f"{name}: done"

        return Tool(name, f"Do {name}.", SCHEMA, run, timeout_s=None, **options)

    @property
    def tools(self) -> list[Tool]:
        return [
            self.tool("write"),
            self.tool("send"),
            self.tool("look", read_only=True),
            self.tool("drop", destructive=True),
        ]

    def agent(self, server: ModelServer, mode: Mode = "native", **options: Any) -> MicroAgent:
        wire, url = ("openai", server.openai_url) if mode == "native" else ("ollama", server.url)
        lm = configure_lm(wire, "m", url, "none", settings=Settings())
        made: dict[str, Any] = {"tools": self.tools, "rules": [], "demos": [], "finish": "text", **options}
        return MicroAgent(lm=lm, mode=mode, **made)

    def ask(self, script: Any, mode: Mode = "native", **options: Any) -> tuple[Run, list[dict[str, Any]]]:
        with ModelServer(script, models=["m"]) as server:
            run = self.agent(server, mode, **options).ask("Is it there?")
            return run, [chat.body or {} for chat in server.chats]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def steps(run: Run) -> list[str]:
    return [step.tool for step in run.steps]


def words(run: Run) -> list[Any]:
    return [step.args.get("make") for step in run.steps if step.tool == MAKE_ASKED]


def verified(run: Run, agent: MicroAgent) -> tuple[str, Any]:
    (verdict,) = verify([run], agent)
    return verdict.outcome, verdict.notes


@MODES
def test_yes_makes_the_call(desk: Desk, mode: Mode) -> None:
    run, bodies = desk.ask([INSIDE, YES, text("Written.")], mode)
    assert (run.status, run.answer, desk.done) == ("completed", "Written.", ["write a"])
    assert steps(run) == [MAKE_ASKED, "write"]
    assert run.steps[0].args == {"tools": ["write"], "make": True, "reply": '{"make": true}'}
    assert run.steps[0].observation == "It is made."
    assert (run.usage.lm_calls, run.usage.tool_calls, len(run.calls)) == (3, 1, 2)
    waited = [call.latency_s for call in run.calls] + [step.latency_s or 0.0 for step in run.steps]
    assert run.usage.latency_s == pytest.approx(sum(waited))
    assert run.calls[0].decision is not None
    assert [one["standing"] for one in run.calls[0].decision["tool_calls"]] == ["embedded"]
    before = bodies[0]["messages"]
    assert bodies[1]["messages"][: len(before)] == before
    assert [one["content"] for one in bodies[1]["messages"][len(before) :]] == [INSIDE.text, ONE]
    assert ONE not in json.dumps(bodies[2], ensure_ascii=False)
    schema = bodies[1]["format"] if mode == "json" else bodies[1]["response_format"]["json_schema"]["schema"]
    assert (schema["required"], bodies[1].get("tools")) == (["make"], bodies[0].get("tools"))
    assert bodies[1].get("tool_choice") == ("none" if mode == "native" else None)
    assert estimate(ONE) <= 60


@MODES
def test_no_makes_the_reply_text(desk: Desk, mode: Mode) -> None:
    run, bodies = desk.ask([INSIDE, NO], mode)
    assert (run.status, run.answer, run.finished_by, desk.done) == ("completed", INSIDE.text, "prose", [])
    assert [(step.tool, step.args["make"]) for step in run.steps] == [(MAKE_ASKED, False)]
    assert len(bodies) == 2


@MODES
def test_text_is_then_asked_about_as_any_other_and_refused_by_rules(desk: Desk, mode: Mode) -> None:
    replies = [INSIDE, NO, text('{"done": false}'), final("It is.") if mode == "json" else text("It is.")]
    run, bodies = desk.ask([*replies, text('{"done": true}')], mode, finish="ask")
    assert run.answer == "It is."
    assert steps(run)[:2] == [MAKE_ASKED, FINISH_ASKED]
    told = [one["content"] for one in bodies[2]["messages"]]
    assert told[-2] == INSIDE.text
    assert told[-1].startswith("Is that your final answer?")
    assert [one["content"] for one in bodies[3]["messages"]][-2:] == [INSIDE.text, "Then go on."]
    assert desk.done == []


def test_no_call_of_text_stays_unanswered_when_a_rule_stops_the_run(desk: Desk) -> None:
    def stop(run: Run, event: Event) -> Verdict | None:
        return Stop("no", "not today") if isinstance(event, BeforeFinish) else None

    run, _ = desk.ask([INSIDE, NO], rules=[stop])
    assert (run.status, run.termination_reason, steps(run)) == ("stopped", "no", [MAKE_ASKED])


@MODES
def test_what_cannot_be_read_is_asked_once_more_and_then_nothing_runs(desk: Desk, mode: Mode) -> None:
    asked: list[Any] = []

    def script(request: Received) -> Reply:
        if request.asks_to_make:
            body = request.body or {}
            asked.append(body.get("temperature", body.get("options", {}).get("temperature")))
            return text("I would say so.")
        return INSIDE if len(asked) == 0 else text("Nothing was written.")

    run, bodies = desk.ask(script, mode)
    assert (run.answer, desk.done, len(asked)) == ("Nothing was written.", [], 2)
    assert steps(run) == [MAKE_ASKED, MAKE_ASKED, MALFORMED_DECISION]
    assert words(run) == [None, None]
    assert (run.steps[2].error, run.steps[2].ok) == ("CALL_IN_TEXT", False)
    told = [one["content"] for one in bodies[3]["messages"]][-2:]
    assert told[0] == INSIDE.text
    assert told[1].startswith("Format: Nothing was run: a call of write stood inside text. Make the call alone. ")
    assert '{"path": "<text>"}' in told[1]
    assert bodies[1]["messages"] == bodies[2]["messages"]
    assert asked == [0.0, 0.3]


def test_the_second_answer_counts(desk: Desk) -> None:
    answers = ["perhaps", '{"make": true}']

    def script(request: Received) -> Reply:
        if request.asks_to_make:
            return text(answers.pop(0))
        return INSIDE if len(answers) == 2 else text("Done.")

    run, _ = desk.ask(script)
    assert (steps(run), words(run), desk.done) == ([MAKE_ASKED, MAKE_ASKED, "write"], [None, True], ["write a"])
    assert run.steps[0].observation == "That says neither: it is asked once more."


def test_a_model_that_never_says_is_stopped(desk: Desk) -> None:
    def script(request: Received) -> Reply:
        return text("Hm.") if request.asks_to_make else INSIDE

    run, _ = desk.ask(script)
    assert (run.status, run.termination_reason, desk.done) == ("stopped", "malformed", [])
    assert steps(run) == [MAKE_ASKED, MAKE_ASKED, MALFORMED_DECISION] * 3


@pytest.mark.parametrize(
    ("reply", "make"),
    [
        ('{"make": true}', True),
        ('```json\n{"make": false}\n```', False),
        ("<think>Shall it?</think>{'make': True}", True),
        ("make: false", False),
        ("True", True),
        ("Yes, make it.", None),
        ('{"make": true} or {"make": false}', None),
        ('{"done": true}', None),
        ("", None),
        (said("write", "b"), None),
    ],
)
def test_every_reply_to_the_question_is_read_by_its_form_alone(desk: Desk, reply: str, make: bool | None) -> None:
    def script(request: Received) -> Reply:
        if request.asks_to_make:
            return text(reply)
        return INSIDE if len(server.chats) == 1 else text("Well.")

    with ModelServer(script, models=["m"]) as server:
        run = desk.agent(server).ask("?")
    assert words(run) == ([make] if make is not None else [None, None])
    assert desk.done == (["write a"] if make else [])


@MODES
def test_what_only_reads_runs_at_once(desk: Desk, mode: Mode) -> None:
    run, bodies = desk.ask([text(f"I look: {said('look')}"), text("There.")], mode)
    assert (steps(run), desk.done, len(bodies)) == (["look"], ["look a"], 2)


def test_what_only_reads_is_asked_about_where_words_follow_it(desk: Desk) -> None:
    for answer, done in ((YES, ["look a"]), (NO, [])):
        desk.done.clear()
        run, _ = desk.ask([text(f"I used {said('look')} and it was empty."), answer, text("There.")])
        assert (desk.done, words(run)) == (done, [answer is YES])


def test_calls_of_one_reply_are_made_all_or_none(desk: Desk) -> None:
    both = text(f"Now: <tool_call>{_named('look')}</tool_call> and <tool_call>{_named('write')}</tool_call> so.")
    for answer, done in ((YES, ["look a", "write a"]), (NO, [])):
        desk.done.clear()
        run, bodies = desk.ask([both, answer, text("Well.")])
        assert bodies[1]["messages"][-1]["content"] == (
            "Your reply holds calls of look and write inside text. Shall they be made now? "
            'Reply {"make": true} or {"make": false}.'
        )
        assert (desk.done, words(run)) == (done, [answer is YES])
        assert steps(run) == [MAKE_ASKED, *(one.split()[0] for one in done)]


def test_two_calls_of_one_tool_are_named_once(desk: Desk) -> None:
    both = text(f"Now: <tool_call>{_named('write')}</tool_call><tool_call>{_named('write', 'b')}</tool_call> so.")
    run, bodies = desk.ask([both, YES, text("Well.")])
    assert bodies[1]["messages"][-1]["content"].startswith("Your reply holds calls of write inside text. Shall they ")
    assert (desk.done, run.steps[0].args["tools"]) == (["write a", "write b"], ["write", "write"])


def _named(name: str, path: str = "a") -> str:
    return json.dumps({"name": name, "arguments": {"path": path}})


@pytest.mark.parametrize(
    "reply",
    [
        text(said("write")),
        text(f"```json\n{said('write')}\n```"),
        text(f"<think>I could.</think>{said('write')}"),
        text(f"<tool_call>{_named('write')}</tool_call>"),
    ],
)
def test_a_call_that_stands_alone_is_made(desk: Desk, reply: Reply) -> None:
    run, bodies = desk.ask([reply, text("Written.")])
    assert (steps(run), desk.done, len(bodies)) == (["write"], ["write a"], 2)


BAD = [
    'A wrong call is {"tool": {"name": "write", "args": {"file": 1}}} since the path is missing.',
    'Two at once: {"tool": {"name": "write", "args": ["a", "b"]}} would be refused.',
    'This one is cut short: <tool_call>{"name": "write", "arg</tool_call> That is all.',
    'So: write("a\nIt was cut off there, as you see.',
]


@pytest.mark.parametrize("inside", BAD)
@MODES
def test_a_text_that_goes_on_behind_a_bad_call_is_text_if_the_model_says_so(
    desk: Desk, mode: Mode, inside: str
) -> None:
    run, bodies = desk.ask([text(inside), NO], mode)
    assert (run.status, run.answer, steps(run), len(bodies)) == ("completed", inside, [MAKE_ASKED], 2)
    assert bodies[1]["messages"][-1]["content"] == ONE


@pytest.mark.parametrize("inside", BAD)
@MODES
def test_a_bad_call_that_is_meant_is_answered_by_what_is_wrong_with_it(desk: Desk, mode: Mode, inside: str) -> None:
    run, bodies = desk.ask(
        [text(inside), YES, text(said("write")), final("Written.") if mode == "json" else text("Written.")], mode
    )
    assert (run.answer, desk.done, len(bodies)) == ("Written.", ["write a"], 4)
    asked, told, made = run.steps
    assert (asked.tool, asked.observation) == (MAKE_ASKED, "It is meant, and cannot be made as it is.")
    assert (told.error, made.tool) == (ASKING[(run.calls[0].error or {})["reason"]].code, "write")
    assert bodies[2]["messages"][-1]["content"].endswith(told.observation)


def test_without_a_word_on_a_bad_call_it_is_told_that_nothing_was_run(desk: Desk) -> None:
    def script(request: Received) -> Reply:
        if request.asks_to_make:
            return text("Hm.")
        return text("Well." if "Nothing was run" in json.dumps(request.body) else BAD[0])

    run, _ = desk.ask(script)
    assert (steps(run), desk.done) == ([MAKE_ASKED, MAKE_ASKED, MALFORMED_DECISION], [])
    assert run.steps[-1].error == "CALL_IN_TEXT"


def test_nobody_is_asked_about_a_bad_call_that_ends_the_text(desk: Desk) -> None:
    inside = text('I write: {"tool": {"name": "write", "args": {"file": 1}}}')
    run, bodies = desk.ask([inside, text("Well.")])
    assert (MAKE_ASKED in steps(run), desk.done, len(bodies)) == (False, [], 2)


def test_a_limit_that_allows_no_further_request_makes_nothing(desk: Desk) -> None:
    run, bodies = desk.ask([INSIDE], limits=Limits(max_tokens=15))
    assert (run.status, run.termination_reason, desk.done, len(bodies)) == ("stopped", "max_tokens", [], 1)
    assert [(step.tool, step.error) for step in run.steps] == [("write", "NOT_RUN")]


def test_nothing_is_made_when_the_time_is_over_before_the_model_has_said(desk: Desk) -> None:
    def script(request: Received) -> Reply:
        return YES.with_(delay_s=5) if request.asks_to_make else INSIDE

    with ModelServer(script, models=["m"]) as server:
        made = desk.agent(server, limits=Limits(max_time=0.3))
        run = made.ask("?")
    assert (run.status, run.termination_reason, desk.done) == ("stopped", "max_time", [])
    assert [(step.tool, step.error) for step in run.steps] == [("write", "NOT_RUN")]
    assert verified(run, made) == ("same", [])


def test_the_question_is_not_a_step_and_its_tokens_count(desk: Desk) -> None:
    run, _ = desk.ask([INSIDE, YES, text("Written.")], limits=Limits(max_steps=2))
    assert (run.answer, len(run.steps)) == ("Written.", 2)
    over, _ = desk.ask([INSIDE, YES], limits=Limits(max_tokens=20))
    assert (over.termination_reason, steps(over)) == ("max_tokens", [MAKE_ASKED, "write"])
    assert over.steps[1].error == "NOT_RUN"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_where_the_question_fails_nothing_is_made_and_that_is_said(desk: Desk, asynchronous: bool) -> None:
    def script(request: Received) -> Reply:
        if request.asks_to_make:
            return error(400, "broken")
        return INSIDE if len(server.chats) == 1 else text("Well.")

    with ModelServer(script, models=["m"]) as server:
        made = desk.agent(server)
        run = asyncio.run(made.aask("?")) if asynchronous else made.ask("?")
    assert verified(run, made) == ("same", [])
    assert (run.answer, desk.done, steps(run)) == ("Well.", [], [MAKE_ASKED, MALFORMED_DECISION])
    assert (run.steps[0].observation, words(run)) == ("Nothing of the reply is run.", [None])
    assert "broken" in run.steps[0].args["not_asked"]


def test_where_the_question_does_not_fit_nothing_is_made(desk: Desk) -> None:
    long = text(f"{'word ' * 2500}{said('write')} so.")
    with ModelServer([long, text("Well."), text("Well.")], models=["m"]) as server:
        lm = configure_lm("ollama", "m", server.url, settings=Settings(ollama_num_ctx=2048))
        run = MicroAgent(desk.tools, lm, "native", [], demos=[], finish="text").ask("?")
    assert "does not fit" in run.steps[0].args["not_asked"]
    assert (desk.done, steps(run)[:2]) == ([], [MAKE_ASKED, MALFORMED_DECISION])


def test_the_question_takes_nothing_of_the_room_that_results_have(desk: Desk) -> None:
    def words_of(path: str) -> str:
        return f"{path} word " * 2000

    def shown(*replies: Reply) -> str:
        with ModelServer([*replies, text("Read.")], models=["m"]) as server:
            lm = configure_lm("ollama", "m", server.url, settings=Settings(ollama_num_ctx=2048))
            long = Tool("write", "Write.", SCHEMA, words_of, max_chars=20_000)
            assert MicroAgent([long], lm, "native", [], demos=[], finish="text").ask("?").answer == "Read."
            return str(server.messages(-1)[-1]["content"])

    asked, alone = shown(INSIDE, YES), shown(text(said("write")))
    assert len(asked) == len(alone) > 1000


def test_a_server_that_refuses_a_schema_is_asked_in_plain_words(desk: Desk) -> None:
    def script(request: Received) -> Reply:
        if not request.asks_to_make:
            return INSIDE if len(server.chats) == 1 else text("Written.")
        return error(400, "cannot use a grammar with tools") if "response_format" in (request.body or {}) else YES

    with ModelServer(script, models=["m"]) as server:
        run = desk.agent(server).ask("?")
    assert (words(run), desk.done) == ([True], ["write a"])


def test_cancelling_ends_the_run_while_the_model_is_asked(desk: Desk) -> None:
    cancel = Cancel()

    def script(request: Received) -> Reply:
        if request.asks_to_make:
            cancel.set()
            return error(503, "later")
        return INSIDE

    with ModelServer(script, models=["m"]) as server:
        made = desk.agent(server)
        run = made.ask("?", cancel=cancel)
    assert (run.status, run.termination_reason, desk.done) == ("stopped", "cancelled", [])
    assert [(step.tool, step.error) for step in run.steps] == [("write", "NOT_RUN")]
    assert verified(run, made) == ("same", [])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_it_is_asked_in_async_runs_and_streams_too(desk: Desk, asynchronous: bool) -> None:
    with ModelServer([INSIDE, NO, INSIDE, YES, text("Written.")], models=["m"]) as server:
        made = desk.agent(server)
        if asynchronous:
            assert asyncio.run(made.aask("?")).answer == INSIDE.text
            assert (asyncio.run(made.aask("?")).answer, desk.done) == ("Written.", ["write a"])
            return
        events = list(made.stream("?"))
        assert "".join(event.text for event in events if isinstance(event, AnswerText)) == INSIDE.text
        assert [event.step.tool for event in events if isinstance(event, StepTaken)] == [MAKE_ASKED]
        later = list(made.stream("?"))
        assert [event.step.tool for event in later if isinstance(event, StepTaken)] == [MAKE_ASKED, "write"]


@pytest.mark.parametrize("reply", [MARKED, text(f"I drop it: {said('drop')} so.")])
def test_a_destructive_call_out_of_text_needs_a_person(desk: Desk, reply: Reply) -> None:
    asked: list[Question] = []

    def confirm(question: Question) -> Approval:
        asked.append(question)
        return Approval("reject" if len(asked) == 2 else "approve")

    before = [MAKE_ASKED] if reply is not MARKED else []
    for done in (["drop a"], []):
        desk.done.clear()
        run, _ = desk.ask([reply, text("Well.")], confirm=confirm)
        assert (steps(run), desk.done) == ([*before, "drop"], done)
    assert run.steps[-1].error == "APPROVAL_REJECTED"
    assert [one.reason for one in asked] == ["The tool is destructive, and its call was read out of a text."] * 2


def test_without_the_models_word_no_person_is_asked(desk: Desk) -> None:
    run, _ = desk.ask([text(f"I drop it: {said('drop')} so."), NO], confirm="never")
    assert (run.status, steps(run), desk.done) == ("completed", [MAKE_ASKED], [])


@pytest.mark.parametrize("reply", [text(said("drop")), call("drop", {"path": "a"})])
def test_a_destructive_call_that_stands_alone_is_made(desk: Desk, reply: Reply) -> None:
    run, _ = desk.ask([reply, text("Well.")], confirm="never")
    assert (steps(run), desk.done) == (["drop"], ["drop a"])


def test_read_only_and_destructive_exclude_each_other(desk: Desk) -> None:
    with pytest.raises(ToolDefinitionError, match="exclude each other"):
        desk.tool("both", read_only=True, destructive=True)

    @tool(destructive=True)
    def wipe(path: str) -> str:
        """Wipe."""
        return path

    assert (wipe.destructive, wipe.read_only) == (True, False)


def test_paused_for_a_person_it_is_not_asked_again(desk: Desk, store: TraceStore) -> None:
    with ModelServer([text(f"I drop: {said('drop')} so."), YES, text("Dropped.")], models=["m"]) as server:
        made = desk.agent(server, traces=store)
        paused = made.ask("?")
        assert (paused.status, steps(paused)) == ("confirmation_required", [MAKE_ASKED, CONFIRMATION_REQUIRED])
        run = made.resume(paused.id, Approval("approve"))
        assert len(server.chats) == 3
    assert (run.answer, desk.done, steps(run)) == (
        "Dropped.", ["drop a"], [MAKE_ASKED, CONFIRMATION_REQUIRED, "drop"],
    )  # fmt: skip
    assert verified(run, made) == ("same", [])


@pytest.mark.parametrize("inside", [INSIDE, text(BAD[0])])
@pytest.mark.parametrize("answer", [YES, NO, None])
@MODES
def test_such_runs_are_verified_shown_and_counted(
    desk: Desk, store: TraceStore, mode: Mode, answer: Reply | None, inside: Reply
) -> None:
    def script(request: Received) -> Reply:
        if request.asks_to_make:
            return answer or text("Hm.")
        return inside if len(server.chats) == 1 else text("Well.")

    with ModelServer(script, models=["m"]) as server:
        made = desk.agent(server, mode, traces=store)
        run = store.load(made.ask("?").id)
    assert verified(run, made) == ("same", [])
    shown = "\n".join(describe(run))
    assert MAKE_ASKED in shown
    assert run.steps[0].observation in shown
    assert statistics([run])["lm_calls"] == len(server.chats)


def test_a_fork_behind_the_question_does_not_ask_again(desk: Desk, store: TraceStore) -> None:
    with ModelServer([INSIDE, YES, text("Written."), text("Again.")], models=["m"]) as server:
        made = desk.agent(server, traces=store)
        forked = fork(made.ask("?"), 1, made)
        assert len(server.chats) == 4
    assert (forked.answer, steps(forked), desk.done) == ("Again.", [MAKE_ASKED, "write"], ["write a"] * 2)
    assert verified(forked, made) == ("same", [])


@pytest.mark.parametrize("inside", [INSIDE, text(BAD[0])])
def test_what_the_model_did_not_mean_to_call_is_text_in_the_next_turn(desk: Desk, inside: Reply) -> None:
    with ModelServer([inside, NO, text("Yes.")], models=["m"]) as server:
        made = desk.agent(server)
        made.ask("And now?", history=made.ask("Is it there?"))
        told = server.messages(2)
    assert [one["content"] for one in told[1:]] == ["Is it there?", inside.text, "And now?"]


@pytest.mark.parametrize("inside", [INSIDE, text(BAD[0])])
def test_the_turn_after_one_that_was_stopped_has_its_text_once(desk: Desk, inside: Reply) -> None:
    def never(run: Run, event: Event) -> Verdict | None:
        return Violation("not so") if isinstance(event, BeforeFinish) else None

    with ModelServer([*[inside, NO] * 3, text("Yes.")], models=["m"]) as server:
        stopped = desk.agent(server, rules=[never]).ask("Is it there?")
        assert (stopped.status, stopped.termination_reason) == ("stopped", "policy")
        run = desk.agent(server).ask("And now?", history=stopped)
        told = [one["content"] for one in server.messages(-1)]
    assert (run.answer, told.count(inside.text), len(told) - len(set(told))) == ("Yes.", 3, 4)


def test_older_records_are_verified_as_they_ran(desk: Desk) -> None:
    with ModelServer([INSIDE, YES, text("Written.")], models=["m"]) as server:
        made = desk.agent(server)
        run = made.ask("?")
    assert verified(run, made) == ("same", [])
    del run.steps[0]
    (verdict,) = verify([run], made)
    assert verdict.divergence is not None
    assert verdict.divergence.got == "the model is asked whether a call inside its text shall be made"
    decision = run.calls[0].decision or {}
    del decision["tool_calls"][0]["standing"]
    run.calls[1].request["steps"] = 1
    assert verified(run, made) == ("same", [])


@pytest.mark.parametrize("cut", [0, 1])
def test_resumed_around_the_question_nothing_happens_twice(desk: Desk, store: TraceStore, cut: int) -> None:
    again = [YES, text("Written.")] if cut == 0 else [text("Written.")]
    with ModelServer([INSIDE, YES, text("Written."), *again], models=["m"]) as server:
        made = desk.agent(server, traces=store)
        run = made.ask("?")
        desk.done.clear()
        journal = store.start(Run(question="?", finish="text", mode="native"))
        journal.replied(run.calls[0])
        for step in run.steps[:cut]:
            journal.step(step)
        journal.close()
        done = made.resume(journal.run.id)
        asked = sum(chat.asks_to_make for chat in server.chats)
    assert (done.answer, desk.done, steps(done), asked) == ("Written.", ["write a"], [MAKE_ASKED, "write"], 2 - cut)


def test_with_outputs_a_reply_that_is_text_is_asked_for_them(desk: Desk) -> None:
    def script(request: Received) -> Reply:
        if request.asks_to_make:
            return NO
        return INSIDE if len(server.chats) == 1 else text('{"final": {"count": 3, "name": "a"}}')

    with ModelServer(script, models=["m"]) as server:
        lm = configure_lm("ollama", "m", server.url, settings=Settings())
        made = MicroAgent("question -> count: int, name: str", lm, "json", [], tools=desk.tools, demos=[])
        run = made.ask("?")
    assert (run.outputs, desk.done) == ({"count": 3, "name": "a"}, [])
    assert (steps(run), run.steps[1].error) == ([MAKE_ASKED, MALFORMED_DECISION], "MALFORMED")
    assert "not an answer in its form" in run.steps[1].observation
    assert verified(run, made) == ("same", [])


def test_a_call_inside_a_thought_without_end_that_is_not_meant_is_an_empty_reply(desk: Desk) -> None:
    thought = text(f"<think>I could <tool_call>{_named('write')}</tool_call>")
    run, _ = desk.ask([thought, NO, text("Well.")])
    assert (desk.done, steps(run), run.answer) == ([], [MAKE_ASKED, "⛔️no_action"], "Well.")


PROSE = st.text(st.characters(codec="utf-8", exclude_characters="{}[]<>`\"'\\"), max_size=60)


@given(before=PROSE, after=PROSE, reply=st.one_of(st.text(max_size=40), st.sampled_from(['{"make": true}', "false"])))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_without_a_yes_nothing_with_an_effect_is_run_whatever_is_said(before: str, after: str, reply: str) -> None:
    desk, asked = Desk(), list[str]()

    def script(request: Received) -> Reply:
        if request.asks_to_make:
            asked.append(reply)
            return text(reply)
        return text("Well.") if asked else inside

    inside = text(f"{before}x {said('write')} x{after}")
    agent = MicroAgent(desk.tools, ScriptedLM(script), rules=[], demos=[])
    run = agent.ask("?")
    assert desk.done == (["write a"] if True in words(run) else [])
    assert (run.status, len(asked)) == ("completed", len(words(run)))
    assert verified(run, agent) == ("same", [])
