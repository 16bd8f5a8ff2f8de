"""What a replay says when rules, prompts, tools or the decoder are no longer those of the record."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Limits, MicroAgent, Run
from micro_agent.effects import Approval
from micro_agent.models import load_settings
from micro_agent.replay import Divergence, Recorded, Verdict, verify
from micro_agent.rules import AfterStep, BeforeFinish, BeforeTool, Event, Stop, Violation, Warn, default_rules
from micro_agent.run import CONTEXT_TRIMMED, LMCall
from micro_agent.testing import text

if TYPE_CHECKING:
    from tests.replay.conftest import Recorder

PLAIN = "Which letters did you find?"


def one(run: Run, agent: MicroAgent, **options: Any) -> Verdict:
    """The verdict on one run; what it says fits on a screen."""
    (verdict,) = verify([run], agent, **options)
    lines = list(verdict.lines())
    assert len(lines) <= 12
    assert all(len(line) <= 260 for line in lines)
    return verdict


def found(run: Run, agent: MicroAgent, **options: Any) -> Divergence:
    """The first divergence of a run that differs."""
    verdict = one(run, agent, **options)
    assert (verdict.outcome, verdict.run_id, verdict.question) == ("differs", run.id, run.question)
    assert verdict.divergence is not None
    return verdict.divergence


def edited(run: Run, changes: dict[str, Any]) -> Run:
    """A copy in which something else stands; a key such as ``calls.0.reply.text`` names the place."""
    data = run.model_dump(mode="json")
    for path, value in changes.items():
        *places, last = [int(place) if place.isdigit() else place for place in path.split(".")]
        spot: Any = data
        for place in places:
            spot = spot[place]
        spot[last] = value
    return Run.model_validate(data)


@pytest.fixture
def looked_up(recorder: "Recorder") -> Run:
    """A look-up, then the answer."""
    return recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), recorder.answer())


@pytest.fixture
def own(recorder: "Recorder") -> Callable[..., MicroAgent]:
    """The agent of today, with something of it changed."""

    def changed(describe: str | None = None, **options: Any) -> MicroAgent:
        tools = list(recorder.agent()._setup.tools.values())  # pyright: ignore[reportPrivateUsage]
        if describe is not None:
            tools = [replace(tool, description=describe) if tool.name == "lookup" else tool for tool in tools]
        return MicroAgent(tools=options.pop("tools", tools), **options)

    return changed


# Prompts


def test_other_instructions_are_found_in_the_first_request(looked_up: Run, own: Callable[..., MicroAgent]) -> None:
    agent = own()
    signature: Any = agent.plan.signature
    agent.plan.signature = signature.with_instructions("You are a pirate.")
    verdict = one(looked_up, agent)
    assert verdict.divergence is not None
    assert (verdict.divergence.kind, verdict.later) == ("request", None)
    assert verdict.divergence.where == "request 1, before its messages: instructions"
    assert verdict.divergence.got.endswith("…: You are a pirate.")
    assert list(verdict.lines())[-1] == "  the rest is as recorded"


def test_another_description_of_a_tool_is_found(looked_up: Run, own: Callable[..., MicroAgent]) -> None:
    divergence = found(looked_up, own("Look it up, quickly."))
    assert divergence.where == "request 1, before its messages: tools"
    assert divergence.got.endswith("…: calculator, now, lookup, page, send, shout")


def test_another_demo_is_found(looked_up: Run, own: Callable[..., MicroAgent]) -> None:
    demo: dict[str, Any] = {"question": "How?", "steps": [], "decision": {"final": {"answer": "So."}}}
    divergence = found(looked_up, own(demos=[demo]))
    assert divergence.where == "request 1, message 1 of 3 (user): demo 1"
    assert divergence.got == "How?"


def test_the_message_that_differs_is_named(looked_up: Run, today: MicroAgent) -> None:
    """A record keeps digests: what is edited here stands for what a changed wording would have given."""
    last = looked_up.calls[1].request["messages"] - 1
    other = edited(looked_up, {"calls.1.request.sha256": "f" * 64, "calls.1.request.chain.1": "f" * 64})
    divergence = found(other, today)
    role = "tool" if looked_up.mode == "native" else "user"
    assert divergence.where == f"request 2, message {last + 1} of {last + 1} ({role}): step 1 (lookup)"
    assert divergence.expected == "another text (sha256 ffffffffffff…)"
    assert '{"found": 2}' in divergence.got


def test_the_question_and_the_demos_are_named(recorder: "Recorder", looked_up: Run, today: MicroAgent) -> None:
    chain = looked_up.calls[0].request["chain"]
    places = [(len(chain) - 1, "user", "the question")]
    places += [(1, "assistant", "demo 1")] if recorder.mode == "json" else []
    for at, role, named in places:
        changed = {f"calls.0.request.chain.{index}": "f" * 64 for index in range(at, len(chain))}
        divergence = found(edited(looked_up, {"calls.0.request.sha256": "f" * 64, **changed}), today)
        assert divergence.where == f"request 1, message {at + 1} of {len(chain)} ({role}): {named}"


def test_what_a_message_of_an_earlier_turn_says_is_named(recorder: "Recorder", today: MicroAgent) -> None:
    first = recorder.ask("Hello.", recorder.call("lookup", {"number": 1}), recorder.answer("Hi."))
    agent = recorder.agent(recorder.call("lookup", {"number": 2}), recorder.answer("2."))
    later = recorder.store.load(agent.ask("And 2?", history=first).id)
    [request, after] = [call.request for call in later.calls]
    count = request["messages"]
    assert (after["messages"], after["shared"]) == (count + 2, count)
    places = ["the question of an earlier turn", "an earlier turn", "an earlier turn"]
    places += ["the answer before the question, or the question"] * 2
    for at, named in enumerate(places, count - len(places)):
        changed = {f"calls.0.request.chain.{index}": "f" * 64 for index in range(at, count)}
        other = edited(later, {"calls.0.request.sha256": "f" * 64, **changed})
        other.earlier = later.earlier
        assert found(other, today).where.endswith(named)
    other = edited(later, {"calls.1.request.sha256": "f" * 64, "calls.1.request.chain.1": "f" * 64})
    other.earlier = later.earlier
    assert found(other, today).where.endswith("step 1 (lookup)")


def test_a_message_more_or_less_is_told(looked_up: Run, today: MicroAgent) -> None:
    request = looked_up.calls[1].request
    fewer = edited(looked_up, {"calls.1.request.sha256": "f" * 64, "calls.1.request.chain": request["chain"][:1]})
    assert found(fewer, today).expected == "no message"
    more = {"calls.1.request.sha256": "f" * 64, "calls.1.request.chain": [*request["chain"], "f" * 64]}
    divergence = found(edited(looked_up, more), today)
    assert (divergence.expected, divergence.got) == ("a message (ffffffffffff…)", "no message")


def test_a_system_prompt_that_changed_by_itself_is_told(looked_up: Run, today: MicroAgent) -> None:
    """The fixed text of JSON mode, say: the digests of tools and instructions are the same."""
    request = looked_up.calls[0].request
    chain = ["f" * 64] * len(request["chain"])
    changed = {"calls.0.request": {**request, "sha256": "f" * 64, "chain": chain, "head": "f" * 64}}
    divergence = found(edited(looked_up, changed), today)
    assert divergence.where == "request 1, before its messages: system prompt or schema"
    assert divergence.got.startswith("You are a careful assistant")


def test_of_records_without_a_digest_of_it_the_place_is_told_as_far_as_it_is_known(
    looked_up: Run, own: Callable[..., MicroAgent], today: MicroAgent
) -> None:
    request = {key: value for key, value in looked_up.calls[0].request.items() if key != "head"}
    assert one(edited(looked_up, {"calls.0.request": request}), today).outcome == "same"
    changed = {"calls.0.request": {**request, "sha256": "f" * 64, "chain": ["f" * 64] * len(request["chain"])}}
    where = found(edited(looked_up, changed), today).where
    if looked_up.mode == "native":  # what could differ before the messages has a digest of its own
        assert where == "request 1, message 1 of 1 (user): the question"
    else:
        assert where == "request 1, before its messages, or in the first of them"
    agent = own(demos=[{"question": "How?", "steps": [], "decision": {"final": {"answer": "So."}}}])
    where = found(edited(looked_up, {"calls.0.request": request}), agent).where
    assert where == "request 1, before its messages: instructions or demos"


def test_requests_without_digests_are_not_compared(looked_up: Run, today: MicroAgent) -> None:
    verdict = one(edited(looked_up, {"calls.0.request": {}, "calls.1.request": {}}), today)
    assert verdict.outcome == "same"
    assert verdict.notes == ["request 1 has no digests on record; requests are not compared from there on"]
    assert list(verdict.lines())[1].startswith("  note: request 1 has no digests")


def test_a_masked_secret_is_no_divergence(
    recorder: "Recorder", today: MicroAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2-hunter2")
    run = recorder.ask("Is hunter2-hunter2 the word?", recorder.call("lookup", {"number": 1}), recorder.answer())
    assert "[env:SERVICE_TOKEN]" in run.question
    verdict = one(run, today)
    assert verdict.outcome == "same"
    assert "a secret is masked on record" in verdict.notes[0]


# Decoding


def test_a_reply_that_is_read_otherwise_is_told(looked_up: Run, today: MicroAgent) -> None:
    reply: dict[str, Any] = {**looked_up.calls[0].reply, "text": "So be it.", "tool_calls": []}
    divergence = found(edited(looked_up, {"calls.0.reply": reply}), today)
    assert (divergence.kind, divergence.where) == ("decision", "reply 1, as it is read")
    assert '"lookup"' in divergence.expected
    assert divergence.got == '{"final": "So be it."}'


def test_another_wording_of_a_decode_error_is_told(recorder: "Recorder", today: MicroAgent) -> None:
    run = recorder.ask(PLAIN, text(""), recorder.answer())
    assert run.calls[0].error is not None
    divergence = found(edited(run, {"calls.0.error.expected": "Say something."}), today)
    assert (divergence.kind, divergence.where) == ("decision", "reply 1, as it is read")
    assert "Say something." in divergence.expected


def test_other_repairs_and_coercions_are_a_note(recorder: "Recorder", today: MicroAgent) -> None:
    said = text('Well: {"name": "lookup", "arguments": {"number": "1"}}')
    run = recorder.ask(PLAIN, said, recorder.answer())
    assert run.steps[0].coercions
    verdict = one(edited(run, {"calls.0.repairs": [], "steps.0.coercions": []}), today)
    assert verdict.outcome == "same"
    assert len(verdict.notes) >= 1
    assert verdict.notes[-1] == "step 1 (lookup) has its arguments by other coercions than on record"
    kinds = [repair["kind"] for repair in run.calls[0].repairs]
    other = one(edited(run, {"calls.0.repairs": [{"kind": "magic"}]}), today).notes
    assert other == [f"reply 1 is read as on record, by other repairs: magic then, {', '.join(kinds) or 'none'} today"]


# The context


def test_another_way_to_fit_the_context_is_told(recorder: "Recorder", today: MicroAgent) -> None:
    pages = [recorder.call("page", {"number": number}) for number in range(9)]
    settings = load_settings().model_copy(update={"context_length": 3700})
    run = recorder.ask(PLAIN, *pages, recorder.answer(), settings=settings, limits=Limits(max_steps=10))
    first = next(index for index, step in enumerate(run.steps) if step.tool == CONTEXT_TRIMMED)
    number = 2 + max(step.call or 0 for step in run.steps[:first])
    for length in (None, 3000):
        divergence = found(edited(run, {"context_length": length}), today)
        assert divergence.kind == "request"
        assert int(divergence.where.split()[1].strip(":,")) <= number
    untold = edited(run, {"context_length": None, **{f"calls.{n}.request": {} for n in range(len(run.calls))}})
    divergence = found(untold, today)
    assert divergence.where == f"request {number}: what is cut to fit the context"
    assert (divergence.expected[0], divergence.got) == ("{", "nothing")
    last = max(step.call for step in run.steps if step.call is not None and step.tool == "page")
    sent = run.calls[last + 1].request
    changed = {"sha256": "f" * 64, "chain": [*sent["chain"][:-1], "f" * 64]}
    divergence = found(edited(run, {f"calls.{last + 1}.request": {**sent, **changed}}), today)
    assert divergence.where.startswith(f"request {last + 2}, message ")
    assert ": step 1" in divergence.where


@pytest.mark.parametrize("length", [None, 3000])
def test_the_rest_of_a_record_is_compared_although_something_else_is_cut_today(
    recorder: "Recorder", today: MicroAgent, length: int | None
) -> None:
    """As in records of an older version, which knew less of how long a prompt is."""
    pages = [recorder.call("page", {"number": number}) for number in range(9)]
    settings = load_settings().model_copy(update={"context_length": 4000})
    run = recorder.ask(PLAIN, *pages, recorder.answer(), settings=settings, limits=Limits(max_steps=10))
    (verdict,) = verify([edited(run, {"context_length": length})], today)
    assert verdict.divergence is not None
    assert (verdict.outcome, verdict.divergence.kind, verdict.later) == ("differs", "request", None)


def test_a_cut_before_a_request_that_the_server_refused_is_told(recorder: "Recorder", today: MicroAgent) -> None:
    pages = [recorder.call("page", {"number": number}) for number in range(9)]
    settings = load_settings().model_copy(update={"context_length": 4000})
    run = recorder.ask(PLAIN, *pages, recorder.answer(), settings=settings, limits=Limits(max_steps=10))
    first = next(index for index, step in enumerate(run.steps) if step.tool == CONTEXT_TRIMMED)
    calls = 1 + max(step.call or 0 for step in run.steps[:first])
    failed = {"status": "failed", "termination_reason": "lm_error", "answer": None, "model_answer": None}
    cut = {"steps": run.steps[: first + 1], "calls": run.calls[:calls], "context_length": None}
    divergence = found(
        edited(run, {**failed, **cut, "error": {"code": "LM_ERROR", "message": "no", "retries": 0}}), today
    )
    assert (divergence.where, divergence.got) == (f"request {calls + 1}: what is cut to fit the context", "nothing")


def test_a_request_that_would_not_fit_today_is_told(looked_up: Run, today: MicroAgent) -> None:
    divergence = found(edited(looked_up, {"context_length": 300}), today)
    assert (divergence.kind, divergence.where, divergence.expected) == ("status", "request 1", "it was sent")
    assert divergence.got.startswith("not sent: the prompt needs at least ")


# Rules, limits, tools


def never(run: Run, event: Event) -> Violation | None:
    """A rule that forbids looking up."""
    return Violation("Do not look up.") if isinstance(event, BeforeTool) and event.tool == "lookup" else None


def warns(run: Run, event: Event) -> Warn | None:
    """A rule that warns after each look-up."""
    return Warn("Looked up.") if isinstance(event, AfterStep) and event.step.is_tool else None


def stops(run: Run, event: Event) -> Stop | None:
    """A rule that stops every run before its end."""
    return Stop("enough", "It is enough.") if isinstance(event, BeforeFinish) else None


def test_a_new_rule_is_told_by_the_step_it_adds(looked_up: Run, own: Callable[..., MicroAgent]) -> None:
    divergence = found(looked_up, own(rules=[*default_rules(), never]))
    assert (divergence.kind, divergence.where) == ("step", "step 1")
    assert divergence.expected == 'lookup {"number": 1} -> {"found": 2}'
    assert divergence.got.startswith("⛔️policy_violation ")
    assert found(looked_up, own(rules=[*default_rules(), warns])).got == "⚠️warning -> Looked up."


def test_a_rule_that_is_gone_is_told_by_the_step_that_is_missing(
    recorder: "Recorder", own: Callable[..., MicroAgent]
) -> None:
    run = recorder.ask("What is 6*7?", recorder.answer("42"), recorder.call("calculator", {"expression": "6*7"}),
                       recorder.answer("42"))  # fmt: skip
    divergence = found(run, own(rules=[]))
    assert divergence.expected.startswith("⛔️policy_violation ")
    assert divergence.got == "completed (final): 42"
    forbidden = recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), recorder.answer(), rules=[never])
    assert found(forbidden, own(rules=[])).got == 'lookup {"number": 1} is run'
    warned = recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), recorder.answer(), rules=[warns])
    assert found(warned, own(rules=[])).where == "step 2"
    twice = [recorder.call("lookup", {"number": number}) for number in (1, 2)]
    divergence = found(recorder.ask(PLAIN, *twice, recorder.answer(), rules=[warns]), own(rules=[]))
    assert (divergence.where, divergence.got) == ("step 2", "no step: the model is asked next")


def test_another_end_is_told(recorder: "Recorder", looked_up: Run, own: Callable[..., MicroAgent]) -> None:
    divergence = found(looked_up, own(rules=[stops]))
    assert (divergence.kind, divergence.where) == ("status", "the end")
    assert divergence.expected == "completed (final): Done."
    assert divergence.got == "stopped (enough): It is enough."
    stopped = recorder.ask(PLAIN, recorder.answer(), rules=[stops])
    assert found(stopped, own(rules=[])).got == "completed (final): Done."
    same = [recorder.call("lookup", {"number": 1})] * 5
    repeated = recorder.ask(PLAIN, *same, recorder.answer())
    assert repeated.termination_reason == "repetition"
    assert found(repeated, own(rules=[])).where == "step 4"  # the warning at the third call
    limited = recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), limits=Limits(max_steps=1))
    divergence = found(edited(limited, {"limits.max_steps": 2}), own())
    assert (divergence.kind, divergence.where) == ("status", "request 2")
    assert divergence.expected.startswith("stopped (max_steps)")
    assert divergence.got.startswith("the model is asked again")


def test_another_answer_is_told(looked_up: Run, today: MicroAgent) -> None:
    divergence = found(edited(looked_up, {"answer": "Done. (lookup: 2)"}), today)
    assert divergence == Divergence("answer", "the answer", "Done. (lookup: 2)", "Done.")
    failed = {"error": {"code": "x"}}
    assert found(edited(looked_up, failed), today).kind == "status"


def test_a_field_of_a_step_is_told(looked_up: Run, today: MicroAgent) -> None:
    divergence = found(edited(looked_up, {"steps.0.args": {"number": 1.0}}), today)
    assert (divergence.where, divergence.expected, divergence.got) == (
        "step 1 (lookup): args",
        '{"number": 1.0}',
        '{"number": 1}',
    )


@pytest.mark.parametrize(
    ("name", "value"), [("observation", "Do it."), ("call", None), ("ok", True), ("error", None), ("args", {})]
)
def test_every_field_of_a_word_of_the_loop_counts(
    recorder: "Recorder", today: MicroAgent, name: str, value: Any
) -> None:
    run = recorder.ask("What is 6*7?", recorder.answer("42"), recorder.call("calculator", {"expression": "6*7"}),
                       recorder.answer("42"))  # fmt: skip
    assert found(edited(run, {f"steps.0.{name}": value}), today).where == f"step 1 (⛔️policy_violation): {name}"


def closes(run: Run, event: Event) -> Warn | None:
    """A rule that says something to every answer."""
    return Warn("So long.") if isinstance(event, BeforeFinish) else None


def test_words_about_the_answer_come_after_its_request(recorder: "Recorder", own: Callable[..., MicroAgent]) -> None:
    run = recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), recorder.answer(), rules=[closes])
    assert run.steps[-1].observation == "So long."
    assert one(run, own(rules=[closes])).outcome == "same"
    assert found(run, own(rules=[])).where == "step 2"


def agrees(args: dict[str, Any]) -> bool:
    """A tool's function that wants nobody asked."""
    return not args


@pytest.mark.parametrize("wants", [False, agrees])
def test_confirmation_that_is_asked_for_anew_or_no_more_is_told(
    recorder: "Recorder", own: Callable[..., MicroAgent], wants: bool | Callable[[dict[str, Any]], bool]
) -> None:
    agent = recorder.agent(recorder.call("send", {"word": "a"}), recorder.answer())
    paused = agent.ask(PLAIN)
    run = recorder.store.load(agent.resume(paused.id, Approval("reject")).id)
    free = [replace(tool, requires_confirmation=wants) for tool in agent._setup.tools.values()]  # pyright: ignore[reportPrivateUsage]
    divergence = found(run, own(tools=free))
    assert divergence.expected.startswith("⛔️confirmation_required")
    assert divergence.got == 'send {"word": "a"} is run'
    straight = recorder.ask(PLAIN, recorder.call("send", {"word": "a"}), recorder.answer(), confirm="never")
    assert found(straight, own(tools=free)).got == 'send {"word": "a"} is run'
    forbidden = recorder.ask(PLAIN, recorder.call("send", {"word": "a"}), recorder.answer(), rules=[quiet])
    assert found(forbidden, own(rules=[])).got == 'confirmation is asked for send {"word": "a"}'


def quiet(run: Run, event: Event) -> Violation | None:
    """A rule that forbids sending."""
    return Violation("Do not send.") if isinstance(event, BeforeTool) and event.tool == "send" else None


def test_a_tool_that_is_not_there_and_unknown_limits_are_reasons_not_to_replay(looked_up: Run) -> None:
    verdict = one(looked_up, MicroAgent(tools=[], rules=[]))
    assert (verdict.outcome, verdict.divergence) == ("not_replayed", None)
    assert verdict.reason == "it used tools that are not there: lookup (name them with --tools or TOOLS_MODULES)"
    assert list(verdict.lines()) == [f"not replayed  {looked_up.id}: {verdict.reason}"]
    limited = one(edited(looked_up, {"limits.max_fun": 1}), MicroAgent(tools=[]))
    assert "limits that this version does not know" in (limited.reason or "")


def test_a_lost_reply_is_a_reason_not_to_replay(looked_up: Run, today: MicroAgent) -> None:
    lost = looked_up.model_copy(update={"calls": [LMCall(reply={}), looked_up.calls[1]]})
    assert (one(lost, today).reason or "").startswith("reply 1: no whole reply is on record")


def test_verdicts_come_in_the_order_of_the_runs(looked_up: Run, today: MicroAgent) -> None:
    damaged = Recorded("x.jsonl", fault="line 3: not readable")
    verdicts = list(verify([damaged, looked_up, Recorded("y.jsonl", looked_up)], today))
    assert [verdict.outcome for verdict in verdicts] == ["not_replayed", "same", "same"]
    assert [line for verdict in verdicts for line in verdict.lines()] == [
        "not replayed  x.jsonl: line 3: not readable",
        f"same  {looked_up.id}",
        "same  y.jsonl",
    ]


# What a request cannot tell alone


def test_what_comes_behind_a_changed_prompt_is_told_too(looked_up: Run, own: Callable[..., MicroAgent]) -> None:
    verdict = one(looked_up, own("Look it up, quickly.", rules=[never]))
    assert verdict.divergence is not None
    assert verdict.divergence.kind == "request"
    assert verdict.later is not None
    assert verdict.later.got.startswith("⛔️policy_violation ")
    assert "  then step 1" in list(verdict.lines())


# Tools run for real


def test_read_only_tools_are_run_for_real_where_that_is_asked_for(recorder: "Recorder", own: Any) -> None:
    steps = [recorder.call("lookup", {"number": 1}), recorder.call("shout", {"word": "stop"})]
    run = recorder.ask(PLAIN, *steps[:1], recorder.call("shout", {"word": "a"}), recorder.answer())
    called: list[int] = []

    def lookup(number: int) -> dict[str, int]:
        called.append(number)
        return {"found": number * 3}

    agent = own()
    tools = [replace(tool, handler=lookup) if tool.name == "lookup" else tool for tool in agent._setup.tools.values()]
    assert one(run, own(tools=tools)).outcome == "same"
    assert called == []
    assert one(run, agent, live_tools=True).outcome == "same"
    verdict = one(run, own(tools=tools), live_tools=True)
    assert called == [1]
    assert verdict.divergence == Divergence(
        "tool", "step 1 (lookup), run for real: observation", '{"found": 2}', '{"found": 3}'
    )
    assert verdict.later is None
