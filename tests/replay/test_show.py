"""Runs read back: as a person wants to read them, and counted."""

import re
from pathlib import Path

import pytest

from micro_agent import MicroAgent, Run, Step, tool
from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.replay import asked, describe, record_of, statistics, step_line
from micro_agent.run import LMCall, Usage
from micro_agent.testing import Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(read_only=True)
def age(person: str) -> int:
    """Tell the age of a person."""
    if person != "Anna":
        raise ValueError(f"there is no {person!r}")
    return 34


def test_a_run_reads_from_question_to_answer(store: TraceStore) -> None:
    lm = ScriptedLM([call("add", {"a": "1", "b": 2}), text("Three.")])
    run = MicroAgent(tools=[add], lm=lm, rules=[], traces=store).ask("What is 1 + 2?")
    lines = list(describe(record_of(store.path(run.id))))
    assert lines[0] == f"Run {run.id}  {run.ts}"
    assert lines[1] == "scripted scripted, native mode"
    assert "Question: What is 1 + 2?" in lines
    step = lines.index(next(line for line in lines if line.startswith("1. add  (")))
    assert lines[step + 1 : step + 3] == ['     {"a": 1, "b": 2}', "  -> 3"]
    assert lines[step + 3].startswith("     read as: ")
    assert "Answer: Three." in lines
    assert "Completed (final)" in lines
    assert re.fullmatch(r"2 model calls, 1 tool calls?, tokens 20 in, 10 out, cost unknown, \d\.\d\d s", lines[-1])


def test_what_is_unknown_is_shown_as_unknown() -> None:
    lines = list(describe(Run(question="?", usage=Usage(input_tokens=None, output_tokens=None, cost_usd=None))))
    assert lines[1] == "unknown unknown, unknown mode"
    assert lines[-2] == "Running (under way)"
    assert lines[-1] == "0 model calls, 0 tool calls, tokens unknown, cost unknown, 0.00 s"
    half = list(describe(Run(question="?", usage=Usage(input_tokens=5, output_tokens=None, cost_usd=0.5))))
    assert "tokens 5 in, unknown out, cost $0.500000" in half[-1]
    assert (
        "tokens unknown in, 5 out"
        in list(describe(Run(question="?", usage=Usage(input_tokens=None, output_tokens=5))))[-1]
    )


def test_a_run_that_waits_or_failed_says_for_what_and_why() -> None:
    confirmation = {"tool": "send", "args": {"to": "Ann"}, "reason": "?"}
    waiting = Run(question="?", status="confirmation_required", confirmation=confirmation)
    assert 'Waits for confirmation of: send {"to": "Ann"}' in list(describe(waiting))
    marked = waiting.model_copy(update={"confirmation": {**confirmation, "ungrounded": ["to", "ö\n[0]"]}})
    line = r"Not in the question or any result: to, \u00f6\n[0]"
    assert f"  {line}" in list(describe(marked))
    assert list(asked(marked.confirmation or {})) == ['send {"to": "Ann"}', line, "?"]
    error = {"code": "AUTH", "message": "401: check the key"}
    failed = Run(question="?", status="failed", termination_reason="lm_error", error=error)
    assert "Failed (lm_error): 401: check the key" in list(describe(failed))


def test_a_fall_back_is_said() -> None:
    run = Run(question="?", provider="ollama", fallback_from=[{"provider": "openai", "reason": "no key"}])
    assert list(describe(run))[1] == "ollama unknown, unknown mode, instead of openai (no key)"


def test_long_and_many_lined_observations_are_cut_and_indented() -> None:
    run = Run(question="?", steps=[Step(tool="read", observation="a\n\nb" + "x" * 5000), Step(tool="nothing")])
    lines = "\n".join(describe(run)).splitlines()
    at = lines.index("1. read")
    assert lines[at + 1 : at + 3] == ["  -> a", "  -> "]
    assert lines[at + 3].endswith("x…")
    assert len(lines[at + 3]) < 2010


def test_a_step_on_one_line() -> None:
    assert step_line("now", {}) == "now"
    assert step_line("add", {"a": 1}, {"b": 2}) == 'add {"a": 1} -> {"b": 2}'
    assert len(step_line("read", {"path": "x" * 500}, "y")) == 100
    assert "\n" not in step_line("read", {}, "a\nb")


def test_a_record_is_chosen_by_its_index(store: TraceStore) -> None:
    run = Run(question="?")
    for answer in ("one", "two"):
        run.answer = answer
        path = store.append(run)
    assert [record_of(path, index).answer for index in (-2, -1, 0, 1)] == ["one", "two", "one", "two"]
    for index in (2, -3):
        with pytest.raises(ConfigurationError, match=r"has 2 records: --index goes from -2 to 1"):
            record_of(path, index)


def test_garbage_in_a_trace_is_named_and_the_rest_is_read(tmp_path: Path, store: TraceStore) -> None:
    path = store.append(Run(question="?", answer="kept"))
    path.write_bytes(b"garbage\n" + path.read_bytes() + b'{"id": "torn')
    assert record_of(path).answer == "kept"
    only = tmp_path / "only.jsonl"
    only.write_bytes(b"garbage\n")
    with pytest.raises(StorageError, match=r"no run in .*only\.jsonl: line 1: "):
        record_of(only)
    with pytest.raises(StorageError, match="No such file"):
        record_of(tmp_path / "missing.jsonl")


def test_statistics_count_and_keep_the_unknown_unknown() -> None:
    def run(reason: str | None, tokens: int | None, latency_s: float) -> Run:
        usage = Usage(lm_calls=1, tool_calls=2, input_tokens=tokens, output_tokens=1, cost_usd=0.5, latency_s=latency_s)
        return Run(question="?", status="completed", termination_reason=reason, usage=usage)

    counted = statistics([run("final", 5, 1.0), run("final", 6, 2.0), run(None, 7, 9.0)])
    assert counted == {
        "runs": 3, "status": {"completed": 3}, "termination_reason": {"final": 2, "under way": 1}, "lm_calls": 3,
        "tool_calls": 6, "input_tokens": 18, "output_tokens": 3, "cost_usd": 1.5, "median_latency_s": 2.0,
        "unknown": {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0},
    }  # fmt: skip
    part = statistics([run("final", None, 1.0), run("final", 6, 2.0)])
    assert (part["input_tokens"], part["unknown"]["input_tokens"]) == (6, 1)
    nothing_known = statistics([run("final", None, 1.0)])
    assert (nothing_known["input_tokens"], nothing_known["unknown"]["input_tokens"]) == (None, 1)
    nothing = statistics([])
    assert (nothing["runs"], nothing["median_latency_s"], nothing["cost_usd"]) == (0, None, 0)


def test_a_reply_that_was_repaired_is_shown_with_the_step_that_was_made_of_it() -> None:
    said = "Sure!\n{'name': 'add', 'arguments': {'a': 1, \"b\": 2}"
    lm = ScriptedLM([text(said), text("<think>easy</think>Three.")])
    lines = list(describe(MicroAgent(tools=[add], lm=lm, rules=[]).ask("How much?")))
    step = lines.index(next(line for line in lines if line.startswith("1. add  (")))
    assert lines[step + 1 : step + 5] == [
        "     read from the text: Sure! {'name': 'add', 'arguments': {'a': 1, \"b\": 2}",
        "     repaired: closing_brackets, python_literal",
        '     {"a": 1, "b": 2}',
        "  -> 3",
    ]


def test_a_reply_that_could_not_be_read_is_shown_with_what_the_model_was_told() -> None:
    lm = ScriptedLM([text('{"name": "add", "arguments": {"a": 1 1}}'), text(""), text("Three.")])
    lines = list(describe(MicroAgent(tools=[add], lm=lm, rules=[]).ask("How much?")))
    step = lines.index("1. ⛔️malformed_decision")
    assert lines[step + 1] == '     the reply: {"name": "add", "arguments": {"a": 1 1}}'
    assert lines[lines.index("2. ⛔️no_action") + 1] == "     the reply: nothing"


def test_native_arguments_that_were_repaired_are_shown_as_they_came() -> None:
    lm = ScriptedLM([call("add", "{'a': 1, 'b': 2}"), text("Three.")])
    lines = list(describe(MicroAgent(tools=[add], lm=lm, rules=[]).ask("How much?")))
    step = lines.index(next(line for line in lines if line.startswith("1. add  (")))
    assert lines[step + 1] == "     the reply: add {'a': 1, 'b': 2}"
    assert lines[step + 2].startswith("     repaired: ")


def test_an_answer_that_was_repaired_is_shown_as_it_came_and_a_long_one_is_cut() -> None:
    lm = ScriptedLM([text('{"final": {"answer": "' + "Three. " * 200 + '"}')], mode="json")
    lines = list(describe(MicroAgent(tools=[add], lm=lm, rules=[]).ask("How much?")))
    reply = next(line for line in lines if line.startswith("     the reply: "))
    assert reply.startswith('     the reply: {"final": {"answer": "Three. Three. ')
    assert reply.endswith("…")
    assert lines[lines.index(reply) + 1].startswith("     repaired: ")


def test_two_calls_of_one_reply_show_it_once() -> None:
    two = '[{"name": "add", "arguments": {"a": 1, "b": 2}}, {"name": "add", "arguments": {"a": 3, "b": 4}}'
    lm = ScriptedLM([text(two), text("Three and seven.")])
    lines = list(describe(MicroAgent(tools=[add], lm=lm, rules=[]).ask("How much?")))
    assert sum(two in line for line in lines) == 1


def sampled(*replies: Reply, samples: int = 1) -> list[str]:
    """The lines of a run of these replies, those of how it ended aside."""
    agent = MicroAgent(tools=[add, age], lm=ScriptedLM([*replies]), rules=[], samples=samples, resamples=2)
    lines = list(describe(agent.ask("How old is Anna, and how much is 3 + 4?")))
    return [re.sub(r"  \(.* s\)$", "", line) for line in lines[lines.index("") + 3 :]]


def test_a_reply_that_was_thrown_away_is_shown_with_what_the_model_was_not_told() -> None:
    lines = sampled(call("age", {"person": "An na"}), text(""), call("age", {"person": "Anna"}), text("34."))
    assert lines[:7] == [
        "1. age",
        "     3 replies: 2 were thrown away",
        '     thrown away: age {"person": "An na"}',
        '       -> {"error": "TOOL_EXCEPTION", "message": "ValueError: there is no \'An na\'"}',
        "     thrown away: nothing",
        lines[5],
        '     {"person": "Anna"}',
    ]
    assert lines[5].startswith("       -> ")


def test_a_long_reply_that_was_thrown_away_is_cut() -> None:
    lines = sampled(call("age", {"person": "x" * 300}), call("age", {"person": "Anna"}), text("34."))
    assert lines[1] == "     2 replies: 1 was thrown away"
    assert lines[2].startswith('     thrown away: age {"person": "xxx')
    assert lines[2].endswith("x…")
    assert len(lines[2]) == len("     thrown away: ") + 200
    assert len(lines[3]) <= len("       -> ") + 200


def test_how_one_of_several_replies_was_chosen_is_shown() -> None:
    anna, nora = (call("age", {"person": name}) for name in ("Anna", "Nora"))
    lines = sampled(anna, nora, anna, text("34."), text("It is 34."), samples=3)
    assert lines[:3] == ["1. age", "     3 replies: 2 agree; 1 has words that stand nowhere", '     {"person": "Anna"}']
    assert lines[lines.index("Answer: 34.") + 1] == "     2 replies: 2 agree"
    other = sampled(text('{"name": "age", "arguments": {'), nora, call("age", {"person": "Vera"}), anna,
                    text("34."), text("34."), samples=4)  # fmt: skip
    assert other[1] == "     4 replies: 1 could not be used; 2 have words that stand nowhere"
    apart = sampled(anna, call("add", {"a": 3, "b": 4}), text("34."), text("34."), samples=2)
    assert apart[1] == "     2 replies: no two agree"


def test_replies_of_which_none_is_in_force_yet_are_counted() -> None:
    other = LMCall(reply={"text": "b"})
    run = Run(
        question="?", steps=[Step(tool="add", call=0)], calls=[LMCall(reply={"text": "a"}, samples=[other], open=True)]
    )
    assert "     2 replies" in list(describe(run))
