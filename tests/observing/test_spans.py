"""The spans of runs of all shapes, made of their records."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.effects import Approval, Question
from micro_agent.observing import Span, SpanFold, spans_of
from micro_agent.replay import fork, verify
from micro_agent.rules.coach import Coach
from micro_agent.run import EDITED, FINISH_ASKED, WARNING, LMCall, Step, Usage
from micro_agent.run.span_ids import parsed, span_id, trace_id, traceparent
from micro_agent.testing import Reply, ScriptedLM, call, calls, decision, final, text
from micro_agent.tools.error import ToolError
from micro_agent.traces import TraceStore

LEAVES = st.none() | st.booleans() | st.floats() | st.text()
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
HINT = {"tool_call": {"name": "list_files", "arguments": {"glob": "**/a*"}}, "rationale": "find it"}


def look(path: str) -> Any:
    if path == "missing":
        raise ToolError("FILE_NOT_FOUND", "there is no such file", recovery=HINT)
    return {"lines": ["one", "two\nthree"], "truncated": False} if path != "text" else "one\ntwo"


def shown(args: dict[str, Any]) -> dict[str, Any]:
    files: Any = {"one": ["a.py"], "two": ["a.py", "b.py"], "odd": 3}.get(args["path"])
    return {"kind": "patch", "id": "patch_0123456789", "text": "-a\n+b"} | ({"files": files} if files else {})


def change(path: str) -> str:
    return "changed"


LOOK = Tool("look", "Look at a file.", SCHEMA, look, read_only=True)
CHANGE = Tool("change", "Change a file.", SCHEMA, change, requires_confirmation=True, preview=shown)


def ran(*replies: Reply, confirm: Any = "all", **options: Any) -> Run:
    lm = ScriptedLM(list(replies), mode=options.get("mode", "native"))
    return MicroAgent(tools=[LOOK, CHANGE], lm=lm, rules=[], confirm=confirm, **options).ask("What is in a?")


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


@pytest.mark.usefixtures("prose_is_final")
def test_a_run_is_a_tree_of_its_requests_and_tools_in_the_order_of_their_times() -> None:
    run = ran(call("look", {"path": "a"}), call("look", {"path": "missing"}), text("Lines."))
    spans = spans_of(run)
    assert [span.name for span in spans] == [
        "model.step", "tool_wrapped.look", "model.step", "tool_wrapped.look", "model.step", "agent.run",
    ]  # fmt: skip
    root = spans[-1]
    assert (root.trace, root.id, root.parent) == (run.id, span_id(run), None)
    assert {span.parent for span in spans[:-1]} == {root.id}
    assert len({span.id for span in spans}) == len(spans)
    assert all(root.start <= span.start <= span.end <= root.end for span in spans)
    assert [span.start for span in spans[:-1]] == sorted(span.start for span in spans[:-1])
    assert [(span.ok, span.error) for span in spans] == [
        (True, None), (True, None), (True, None), (False, "FILE_NOT_FOUND"), (True, None), (True, None),
    ]  # fmt: skip
    assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert root.attributes["openinference.span.kind"] == "AGENT"
    assert root.attributes["micro_agent.usage.tool_calls"] == 2
    assert not any(name.startswith("llm.token_count") for name in root.attributes)
    assert not any("estimated" in name for span in spans for name in span.attributes)
    assert spans_of(Run.model_validate_json(run.model_dump_json())) == spans


@pytest.mark.usefixtures("prose_is_final")
def test_a_tool_tells_of_its_arguments_and_result_without_showing_them() -> None:
    run = ran(call("look", {"path": "a"}), call("look", {"path": "missing"}), call("look", {"path": "text"}), text("."))
    found, missing, plain = named(spans_of(run), "tool_wrapped.look")
    assert found.attributes["gen_ai.operation.name"] == "execute_tool"
    assert found.attributes["openinference.span.kind"] == "TOOL"
    assert len(str(found.attributes["tool.args.hash"])) == 8
    assert found.attributes["tool.args.hash"] != missing.attributes["tool.args.hash"]
    assert found.attributes["tool.args.size"] == len('{"path": "a"}')
    assert (found.attributes["result.ok"], missing.attributes["result.ok"]) == (True, False)
    errors = [span.attributes.get("result.error_type") for span in (found, missing)]
    assert errors == [None, "FILE_NOT_FOUND"]
    assert missing.attributes["policy.suggested_next_tool"] == "list_files"
    assert [found.attributes[f"output.{name}"] for name in ("items", "lines", "truncated")] == [2, 3, False]
    assert [plain.attributes[f"output.{name}"] for name in ("lines", "chars")] == [2, 7]
    assert "output.items" not in plain.attributes
    assert found.attributes["duration_ms"] == round((run.steps[0].latency_s or 0) * 1000, 3)
    assert not any("value" in name for span in spans_of(run) for name in span.attributes)


@pytest.mark.usefixtures("prose_is_final")
def test_content_is_told_where_it_is_asked_for() -> None:
    run = ran(call("look", {"path": "a"}), call("look", {"path": "text"}), text("Lines."))
    spans = spans_of(run, content=True)
    root, said, last = spans[-1], *(named(spans, "model.step")[number] for number in (0, 2))
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("What is in a?", "Lines.")
    called = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    assert (said.attributes[f"{called}.name"], said.attributes[f"{called}.arguments"]) == ("look", '{"path": "a"}')
    assert last.attributes["llm.output_messages.0.message.content"] == last.attributes["output.value"] == "Lines."
    first, second = named(spans, "tool_wrapped.look")
    assert first.attributes["input.value"] == first.attributes["gen_ai.tool.call.arguments"] == '{"path": "a"}'
    assert first.attributes["output.mime_type"] == "application/json"
    assert (second.attributes["output.value"], second.attributes["output.mime_type"]) == ("one\ntwo", "text/plain")
    unanswered = spans_of(run.model_copy(update={"answer": None, "question": "x" * 40_000}), content=True)[-1]
    assert "output.value" not in unanswered.attributes
    assert len(str(unanswered.attributes["input.value"])) == 32_768


def test_requests_tell_of_tokens_costs_and_whether_they_could_be_read() -> None:
    run = ran(text('{"tool": "look", "ar'), decision("look", {"path": "a"}), final("Lines."), mode="json")
    bad, again, last = named(spans_of(run), "model.step")
    assert bad.attributes["openinference.span.kind"] == "LLM"
    assert bad.attributes["gen_ai.operation.name"] == "chat"
    assert [one.attributes["response.json_valid"] for one in (bad, again, last)] == [False, True, True]
    assert [one.attributes["format_retry"] for one in (bad, again, last)] == [False, True, False]
    assert (bad.ok, bad.error) == (False, f"unreadable reply: {bad.attributes['error.type']}")
    priced = LMCall(reply={"text": "x"}, input_tokens=3, output_tokens=4, cost_usd=0.5, finish_reason="stop")
    (told, *_) = spans_of(Run(question="?", calls=[priced, LMCall(reply={})], base_url="http://[::1]:99999/v1"))
    assert told.attributes["llm.token_count.total"] == 7
    assert told.attributes["llm.cost.total"] == 0.5
    assert told.attributes["gen_ai.usage.input_tokens"] == 3
    assert told.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    unknown = spans_of(Run(question="?", calls=[priced, LMCall(reply={})]))[1]
    assert not any("token" in name or "cost" in name for name in unknown.attributes)


def test_replies_that_are_not_in_force_and_what_they_did_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESAMPLES", "1")
    replies = [call("look", {"path": "missing"}), call("look", {"path": "a"}), text("Lines.")]
    run = ran(*replies, finish="ask")
    spans = spans_of(run)
    tools, steps = named(spans, "tool_wrapped.look"), named(spans, "model.step")
    assert [span.attributes["micro_agent.in_force"] for span in tools] == [False, True]
    assert [span.attributes.get("micro_agent.in_force") for span in steps] == [False, True, True, None]
    assert steps[-1].attributes["micro_agent.asks"] == FINISH_ASKED
    assert len({span.id for span in spans}) == len(spans)
    assert spans_of(run, content=True)[-2].attributes["output.value"] == '{"done": true}'
    at = "2026-01-01T00:00:02.000Z"  # replies that come at once take an equal part of the time each
    chosen = LMCall(reply={}, at=at, latency_s=1.0, samples=[LMCall(reply={}, at=at, latency_s=1.0)])
    first, second, _ = spans_of(Run(question="?", calls=[chosen]))
    assert (first.start, first.end - first.start) == (second.start, 2 * 10**9)


def test_the_word_of_a_person_is_told_with_the_time_it_took(store: TraceStore) -> None:
    def word(question: Question) -> Approval:
        return {"one": Approval("approve", "fine"), "two": Approval("reject", "no"), "odd": Approval("never")}[
            question.args["path"]
        ]

    asked = [call("change", {"path": path}) for path in ("one", "two", "odd")]
    run = ran(*asked, text("Done."), confirm=word, traces=store, finish="text")
    spans = spans_of(run)
    approved, rejected, never = named(spans, "approval.wait")
    around = named(spans, "tool_wrapped.change")
    assert [span.parent for span in (approved, rejected, never)] == [span.id for span in around]
    assert approved.attributes["openinference.span.kind"] == "GUARDRAIL"
    keys = ("kind", "patch_id", "file", "requested_by", "granted", "feedback")
    told = [[span.attributes.get(f"approval.{key}") for key in keys] for span in (approved, rejected, never)]
    assert told == [
        ["patch", "patch_0123456789", "a.py", "change", True, "fine"],
        ["patch", "patch_0123456789", None, "change", False, "no"],
        ["patch", "patch_0123456789", None, "change", False, None],
    ]
    assert [span.ok for span in (approved, rejected, never)] == [True, False, False]
    assert around[0].start == approved.start <= approved.end <= around[0].end
    assert [span.error for span in around] == [None, "APPROVAL_REJECTED", "APPROVAL_REQUIRED"]
    (verdict,) = verify([run], MicroAgent(tools=[LOOK, CHANGE], lm=ScriptedLM([]), rules=[], finish="text"))
    assert verdict.outcome == "same"


def test_a_question_waits_from_the_first_time_it_is_asked(store: TraceStore) -> None:
    lm = ScriptedLM([call("change", {"path": "one"}), text("Done.")])
    agent = MicroAgent(tools=[CHANGE], lm=lm, rules=[], traces=store, finish="text")
    paused = agent.ask("Change it.")
    assert named(spans_of(paused), "tool_wrapped.change") == []
    assert (spans_of(paused)[-1].ok, spans_of(paused)[-1].error) == (False, None)
    again = agent.resume(paused.id)
    assert again.status == "confirmation_required"
    ended = agent.resume(paused.id, Approval("approve"))
    (step,) = [step for step in ended.steps if step.tool == "change"]
    assert step.approval is not None
    first = [line for line in store.path(ended.id).read_text().splitlines() if "confirmation_required" in line]
    assert ended.ts <= step.approval["at"] <= (step.at or "")
    assert step.approval["seconds"] >= 0
    assert len(first) == 2
    (waited,) = named(spans_of(ended), "approval.wait")
    (around,) = named(spans_of(ended), "tool_wrapped.change")
    assert around.start == waited.start <= waited.end <= around.end
    without = MicroAgent(tools=[CHANGE], lm=ScriptedLM([call("change", {"path": "a"}), text(".")]), rules=[])
    unwritten = without.ask("Change it.")
    done = without.resume(unwritten, Approval("approve"))
    assert next(step for step in done.steps if step.tool == "change").approval is not None


def test_what_was_approved_and_is_no_longer_so_keeps_the_word() -> None:
    seen: list[str] = []

    def preview(args: dict[str, Any]) -> dict[str, Any]:
        seen.append("")
        return {"kind": "command", "id": f"cmd_{len(seen)}", "text": "rm"}

    tool = Tool("change", "Change.", SCHEMA, change, requires_confirmation=True, preview=preview)
    lm = ScriptedLM([call("change", {"path": "a"}), text("Done.")])
    run = MicroAgent(tools=[tool], lm=lm, rules=[], confirm="all", finish="text").ask("Change it.")
    assert run.steps[0].error == "APPROVAL_EXPIRED"
    (waited,) = named(spans_of(run), "approval.wait")
    assert (waited.attributes["approval.kind"], waited.attributes["approval.id"]) == ("command", "cmd_1")


def test_gates_are_checked_in_a_span_of_their_own_and_words_are_events() -> None:
    gates = {"understanding": True, "change": False, "all_passed": False, "steps_taken": 1, "evidence": {"read": 1}}
    coach = Coach(record={"kind": "test"}, status=lambda run: gates)
    run = ran(text("No."), coach=coach, limits=Limits(max_steps=1), finish="ask")
    (check,) = named(spans_of(run), "gate_check")
    assert check.attributes == {
        "openinference.span.kind": "GUARDRAIL", "gate.understanding": True, "gate.change": False,
        "gate.all_passed": False, "gate.steps_taken": 1, "gate.evidence": '{"read": 1}',
    }  # fmt: skip
    assert (check.ok, check.parent) == (False, span_id(run))
    warned = Run(question="?", steps=[Step(tool=WARNING, observation="Search."), Step(tool=EDITED)])
    quiet, told = spans_of(warned)[-1].events[0], spans_of(warned, content=True)[-1].events
    assert (quiet.name, quiet.attributes) == (WARNING, {"ok": True})
    assert [event.attributes.get("text") for event in told] == ["Search.", "null"]


def test_a_run_that_failed_says_what_ended_it() -> None:
    stopped = ran(call("look", {"path": "a"}), limits=Limits(max_steps=1))
    root = spans_of(stopped)[-1]
    assert (root.error or "").startswith("max_steps: ")
    assert root.attributes["error.type"] == "max_steps"
    assert spans_of(Run(question="?", status="failed"))[-1].error == "failed"


@pytest.mark.usefixtures("prose_is_final")
def test_a_fork_and_a_later_turn_say_whose_they_are_and_tell_their_own_part(store: TraceStore) -> None:
    replies = [call("look", {"path": "a"}), call("look", {"path": "text"}), text("Lines."), text("Others."), text(".")]
    agent = MicroAgent(tools=[LOOK], lm=ScriptedLM(replies), rules=[], traces=store)
    first = agent.ask("What is in a?")
    forked = fork(first, 1, agent)
    assert [span.name for span in spans_of(forked)] == ["model.step", "agent.run"]
    assert spans_of(forked)[-1].attributes["micro_agent.parent_run"] == first.id
    second = agent.ask("And now?", history=first)
    conversation = [spans_of(run)[-1].attributes["session.id"] for run in (first, second, store.load(second.id))]
    assert conversation == [first.id] * 3
    alone = spans_of(store.load(second.id, earlier=False))[-1]
    assert alone.attributes["gen_ai.conversation.id"] == first.id


def test_an_old_record_is_laid_end_to_end_and_says_so() -> None:
    run = Run(
        ts="2026-01-01T00:00:00.000Z", question="?", status="completed", answer="!",
        calls=[LMCall(reply={}, latency_s=1.0), LMCall(reply={}, latency_s=0.5)],
        steps=[Step(tool="look", call=0, latency_s=2.0), Step(tool=FINISH_ASKED, usage=Usage(), call=1)],
    )  # fmt: skip
    spans = spans_of(run)
    begin = spans[-1].start
    assert [((span.start - begin) / 1e9, (span.end - begin) / 1e9) for span in spans] == [
        (0.0, 1.0), (1.0, 3.0), (3.0, 3.5), (3.5, 3.5), (0.0, 3.5),
    ]  # fmt: skip
    assert [span.attributes.get("micro_agent.time_is_estimated") for span in spans] == [True] * 4 + [None]
    timeless = Run(ts="once", question="?", steps=[Step(tool="look", at="then")])
    assert [(span.start, span.end) for span in spans_of(timeless)] == [(0, 0), (0, 0)]


def test_programs_are_below_the_tool_that_ran_them() -> None:
    prepared = ["/bin/sh", "-c", 'PATH="x:$PATH"; exec "$@"', "sh", "/usr/bin/pytest", "-q"]
    at = "2026-01-01T00:00:02.000Z"
    programs: list[dict[str, Any]] = [
        {"at": at, "kind": "bwrap", "profile": "try", "argv": [prepared], "exit": 1, "timed_out": False, "seconds": 1},
        {"at": at, "kind": "bwrap", "profile": "ro", "argv": [["git", "log"], ["head"]], "exit": None,
         "timed_out": True, "seconds": 2.5},
        {"argv": [[]], "seconds": "?"},
        {},
    ]  # fmt: skip
    run = Run(ts="2026-01-01T00:00:00.000Z", question="?", steps=[Step(tool="look", at=at, programs=programs)])
    tests, piped, *unknown, tool, _ = spans_of(run)
    assert (tests.name, piped.name, *(span.name for span in unknown)) == (
        "sandbox.pytest", "sandbox.git", "sandbox.unknown", "sandbox.unknown",
    )  # fmt: skip
    assert {span.parent for span in (tests, piped, *unknown)} == {tool.id}
    assert piped.attributes["process.command_args"] == ["git", "log", "|", "head"]
    assert [tests.attributes[name] for name in ("sandbox.profile", "process.exit.code")] == ["try", 1]
    assert (tests.error, piped.error) == (None, "killed for its time")
    assert (tests.end - tests.start, piped.end - piped.start) == (10**9, 25 * 10**8)


def test_calls_that_have_the_same_id_have_spans_of_their_own() -> None:
    steps = [Step(tool="look", call=0, call_id="c"), Step(tool="look", call=0, call_id="c"), Step(tool="look")]
    ids = [span.id for span in spans_of(Run(question="?", calls=[LMCall(reply={})], steps=steps))]
    assert len(set(ids)) == 5


@pytest.mark.usefixtures("prose_is_final")
def test_bit_by_bit_they_are_the_same_as_at_once() -> None:
    run = ran(calls(("look", {"path": "a"}), ("look", {"path": "text"})), call("look", {"path": "a"}), text("Lines."))
    fold, found = SpanFold(run.model_copy(update={"steps": [], "calls": []})), list[Span]()
    for count in range(len(run.steps) + 1):
        part = run.model_copy(update={"steps": run.steps[:count], "calls": run.calls[: count + 1]})
        found += fold.more(part)
    assert [*found, *fold.rest(run)] == spans_of(run)
    half = run.model_copy(update={"steps": run.steps[:2], "calls": run.calls[:1]})
    rest = list(SpanFold(half, seen=True).rest(run))
    assert rest == spans_of(run)[-len(rest) :]
    assert [span.name for span in rest] == ["model.step", "tool_wrapped.look", "model.step", "agent.run"]


def test_a_run_belongs_to_the_span_that_asked_for_it() -> None:
    run = Run(question="?", traceparent=CALLER, steps=[Step(tool="look")])
    tool, root = spans_of(run)
    assert {tool.trace, root.trace, trace_id(run)} == {CALLER[3:35]}
    assert (tool.parent, root.parent) == (root.id, CALLER[36:52])
    assert traceparent(run) == f"00-{CALLER[3:35]}-{root.id}-01"
    assert parsed(f"01{CALLER[2:]}-more") == parsed(f" {CALLER} ") == (CALLER[3:35], CALLER[36:52])


@pytest.mark.parametrize(
    "wrong",
    [None, "", "00", CALLER.upper(), f"ff{CALLER[2:]}", f"{CALLER}-more", f"00-{'0' * 32}-{'1' * 16}-01",
     f"00-{'1' * 32}-{'0' * 16}-01", CALLER[:-1]],
)  # fmt: skip
def test_what_is_no_traceparent_names_no_span(wrong: str | None) -> None:
    assert parsed(wrong) is None
    assert trace_id(run := Run(question="?", traceparent=wrong)) == run.id


@settings(max_examples=10)
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_a_tool_says_has_a_span(observed: Any) -> None:
    step = Step(tool="look", args={"x": observed}, observation=observed)
    run = Run(question="?", steps=[step], gates={"change": observed})
    assert len(spans_of(run, content=True)) == 3
