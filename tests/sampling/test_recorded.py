"""Replies that are not in force are on record: a kill loses nothing, nothing is done twice, a replay chooses again."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Run
from micro_agent.replay import describe, fork, record_of, statistics, verify
from micro_agent.rules import BeforeTool, Event, Violation
from micro_agent.run import LMCall, Mode
from micro_agent.run.sampling import put, replies, requests
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, error, text
from micro_agent.traces import TraceStore
from tests.sampling import killed
from tests.sampling.playing import Letters, Says, broken, not_rome, weather
from tests.warm import Process, Warm

ROOT = Path(__file__).parents[2]
SAMPLES = pytest.mark.parametrize("samples", [1, 5])
MODES = pytest.mark.parametrize("mode", ["native", "json"])
ASKED = {1: 8, 5: 10}
REFUSED = error(401, "who are you?")


def store_in(folder: Path) -> TraceStore:
    return TraceStore(folder / "traces", state_dir=folder / "state")


def letters_in(folder: Path) -> list[str]:
    path = folder / "letters"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def shape(run: Run) -> Any:
    """What is the same however often a run was killed."""
    order = [[(one.reply["text"], _calls(one)) for one in replies(call)] for call in run.calls]
    faults = [[one.fault and one.fault.tool for one in call.samples] for call in run.calls]
    steps = [(step.tool, step.args, step.call) for step in run.steps]
    told = {name: getattr(run.usage, name) for name in ("lm_calls", "tool_calls", "input_tokens", "output_tokens")}
    chosen = [(call.chosen, call.open) for call in run.calls]
    return run.status, run.answer, steps, told, order, faults, chosen


def _calls(reply: LMCall) -> list[tuple[str, str]]:
    """Without their ids."""
    return [(one["name"], one["arguments"]) for one in reply.reply["tool_calls"]]


@contextmanager
def model(samples: int, before: Callable[[int], None] = lambda number: None) -> Generator[ModelServer]:
    """The server; ``before`` is told the number of each request before it is answered."""

    def says(request: Received) -> Reply:
        before(len(server.chats))
        return killed.says(request, samples)

    with ModelServer(says) as server:
        yield server


@pytest.mark.torture
@SAMPLES
def test_killed_between_any_two_events_it_goes_on_and_ends_alike(samples: int, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()

    def keep(number: int) -> None:
        if number == 1:
            (journal,) = (whole / "state" / "runs").glob("*.journal")
            os.link(journal, tmp_path / "kept")

    with model(samples, keep) as server:
        run = killed.agent_of(server.openai_url, whole, samples).ask(killed.QUESTION)
    assert (run.answer, letters_in(whole), run.usage.lm_calls) == (killed.DONE.text, ["Luvir"], ASKED[samples])
    lines = (tmp_path / "kept").read_bytes().splitlines(keepends=True)
    assert sum(b'"event":"sampled"' in line for line in lines) >= 3
    for count in range(1, len(lines) + 1):
        folder = tmp_path / str(count)
        (folder / "state" / "runs").mkdir(parents=True)
        (folder / "state" / "runs" / f"{run.id}.journal").write_bytes(b"".join(lines[:count]))
        folded = store_in(folder).peek(run.id)
        came = list(requests(folded))
        assert (folded.usage.lm_calls, folded.usage.input_tokens) == (len(came), 10 * len(came))
        held = sum(len(reply.reply["text"] or "") for reply in came) <= (folded.usage.recorded_bytes or 0)
        assert held
        began = any(b'"event":"tool_started"' in line and b'"tool":"send"' in line for line in lines[:count])
        with model(samples) as server:
            resumed = killed.agent_of(server.openai_url, folder, samples).resume(run.id)
            assert len(server.chats) + len(came) == ASKED[samples]
        assert letters_in(folder) == ([] if began else ["Luvir"])
        interrupted = [step.tool for step in resumed.steps if step.error == "INTERRUPTED"]
        assert interrupted == ["send"] * (began and not any(step.tool == "send" for step in folded.steps))
        assert shape(resumed) == shape(run)
        assert store_in(folder).load(run.id).usage == resumed.usage


@SAMPLES
def test_what_is_folded_used_as_much_as_the_run(samples: int, tmp_path: Path) -> None:
    kept: list[Any] = []

    def look(number: int) -> None:
        (found,) = store_in(tmp_path).open_ids()
        kept.append(store_in(tmp_path).peek(found))

    with model(samples, look) as server:
        run = killed.agent_of(server.openai_url, tmp_path, samples).ask(killed.QUESTION)
    last = kept[-1]
    assert last.usage.lm_calls < run.usage.lm_calls
    for reply in list(requests(run))[len(list(requests(last))) :]:
        last.usage.latency_s += reply.latency_s
    assert last.usage.latency_s == pytest.approx(run.usage.latency_s)


@SAMPLES
@pytest.mark.parametrize("at", [2, 3, 6, 7])
def test_a_process_that_is_killed_while_it_waits_for_another_sample(
    samples: int, at: int, tmp_path: Path, warm: Warm
) -> None:
    child: list[Process] = []

    def kill(number: int) -> None:
        if number == at:
            child[0].kill()
            child[0].wait()

    with model(samples, kill) as server:
        child.append(warm.start("-m", "tests.sampling.killed", server.openai_url, tmp_path, str(samples), cwd=ROOT))
        assert child[0].wait() == -9
        agent = killed.agent_of(server.openai_url, tmp_path, samples)
        (left,) = store_in(tmp_path).open_runs()
        run = agent.resume(left.id)
        assert len(server.chats) == ASKED[samples] + 1  # the reply to one was never there
    assert (run.answer, letters_in(tmp_path)) == (killed.DONE.text, ["Luvir"])
    assert [(step.tool, step.ok) for step in run.steps] == [("weather", True), ("send", True)]
    assert [verdict.outcome for verdict in verify([store_in(tmp_path).load(run.id)], agent)] == ["same"]


# ------------------------------------------------------------------ replay

TOOLS = [weather, broken, Letters().tool]


def scripts(says: Says) -> dict[str, tuple[int, list[Reply]]]:
    """How many samples, and what the model says."""
    oslo, done = says.call("weather", {"city": "Oslo"}), says.answer("It is overcast.")
    luvira, luvir = (says.call("send", {"to": name}) for name in ("Luvira", "Luvir"))
    fails, empty = says.call("broken", {"city": "Oslo"}), text("")
    return {
        "thrown away": (1, [empty, killed.UNREADABLE, oslo, done]),
        "told after all": (1, [empty, killed.UNREADABLE, says.call("fax", {}), oslo, done]),
        "failed": (1, [fails, oslo, fails, fails, fails, done]),
        "against a rule": (1, [oslo, says.answer("It rains in Rome."), done]),
        "with effects": (1, [oslo, luvira, luvir, done]),
        "with effects, disputed": (1, [luvira, says.call("send", {"to": "Luvi"}), luvira, done]),
        "two agree": (3, [oslo, oslo, done, done]),
        "none agree": (3, [oslo, empty, says.call("weather", {"city": "Bergen"}), done, says.answer("16."), empty]),
        "at once": (5, [says.answer("17."), empty, says.call("fax", {}), oslo, oslo, done, done]),
        "the best fails": (2, [fails, fails, oslo, done, done]),
        "another cannot be had": (3, [oslo, says.call("weather", {"city": "Bergen"}), REFUSED, done, done]),
        "nor after one that was thrown away": (1, [empty, REFUSED, oslo, done]),
        "nor one of those at once": (6, [empty, empty, says.call("fax", {}), REFUSED, oslo, oslo, done, done]),
        "nor all of them": (5, [empty, oslo, empty, REFUSED, REFUSED, done, done]),
        "all bad": (2, [empty, empty, empty, empty, oslo, oslo, done, done]),
    }


SCRIPTS = pytest.mark.parametrize("name", scripts(Says("native")))


def made(name: str, mode: Mode, store: TraceStore, **options: Any) -> tuple[MicroAgent, Run]:
    samples, script = scripts(Says(mode))[name]
    lm = ScriptedLM(script, mode=mode)
    options = {"rules": [not_rome], "samples": samples, "finish": "text", **options}
    agent = MicroAgent(TOOLS, lm=lm, traces=store, **options)
    run = agent.ask(killed.QUESTION)
    assert (run.status, len(lm.requests)) == ("completed", len(script))
    return agent, store.load(run.id)


@MODES
@SCRIPTS
def test_a_replay_comes_to_the_same(name: str, mode: Mode, store: TraceStore) -> None:
    agent, run = made(name, mode, store)
    (verdict,) = verify([run], agent)
    assert "\n".join(verdict.lines()) == f"same  {run.id}"


@MODES
@SCRIPTS
def test_and_so_far_as_it_is_on_record(name: str, mode: Mode, store: TraceStore) -> None:
    """The record of one that was killed, after each step."""
    agent, run = made(name, mode, store)
    for steps in range(len(run.steps) + 1):
        count = max((step.call + 1 for step in run.steps[:steps] if step.call is not None), default=0)
        nothing = dict.fromkeys(("answer", "model_answer", "outputs", "finished_by", "termination_reason"))
        cut = {"status": "running", "steps": run.steps[:steps], "calls": run.calls[:count], **nothing}
        (verdict,) = verify([run.model_copy(update=cut)], agent)
        assert verdict.outcome == "same", list(verdict.lines())


@MODES
@pytest.mark.parametrize("name", ["with effects", "two agree", "none agree", "at once"])
def test_another_choice_is_a_divergence(name: str, mode: Mode, store: TraceStore) -> None:
    agent, run = made(name, mode, store)
    at = next(index for index, reply in enumerate(run.calls) if reply.chosen)
    index = (run.calls[at].chosen or {})["index"]
    other = run.model_copy(deep=True)
    other.calls = other.calls[: at + 1]
    order = replies(other.calls[at])
    wrong = next(one for one in range(len(order)) if one != index)
    put(other, order, wrong).chosen = {**(run.calls[at].chosen or {}), "index": wrong}
    other.calls += run.model_copy(deep=True).calls[at + 1 :]
    (verdict,) = verify([other], agent)
    assert verdict.outcome == "differs"


def test_so_is_a_rule_that_refuses_today_what_was_taken(store: TraceStore) -> None:
    def not_oslo(run: Run, event: Event) -> Violation | None:
        return Violation("not Oslo") if isinstance(event, BeforeTool) and event.args.get("city") == "Oslo" else None

    _, run = made("none agree", "native", store)
    (verdict,) = verify([run], MicroAgent(TOOLS, lm=ScriptedLM([]), rules=[not_oslo]))
    assert verdict.outcome == "differs"


def test_another_fault_is_noted(store: TraceStore) -> None:
    agent, run = made("thrown away", "native", store)
    run = run.model_copy(deep=True)
    fault = run.calls[0].samples[0].fault
    assert fault is not None
    fault.observation = "something else"
    (verdict,) = verify([run], agent)
    assert verdict.outcome == "differs" or verdict.notes


def test_without_the_reply_that_was_in_force_after_one_that_was_thrown_away_it_differs(store: TraceStore) -> None:
    agent, run = made("thrown away", "native", store)
    run = run.model_copy(deep=True)
    thrown = run.calls[0].samples[0].model_copy(update={"fault": None})
    run.calls[0] = thrown
    (verdict,) = verify([run], agent)
    assert verdict.outcome == "differs"


@MODES
@SCRIPTS
def test_a_fork_takes_all_replies_behind_its_beginning_along(name: str, mode: Mode, store: TraceStore) -> None:
    agent, run = made(name, mode, store)
    for at in range(len(run.steps) + 1):
        samples, _ = scripts(Says(mode))[name]
        lm = ScriptedLM([Says(mode).answer("It is overcast at last.")] * 2, mode=mode)
        live = MicroAgent(TOOLS, lm=lm, rules=[], traces=store, samples=samples, finish="text")
        forked = fork(run, at, live)
        assert forked.answer == "It is overcast at last."
        came, sent = list(requests(forked)), len(lm.requests)
        assert (forked.usage.lm_calls, forked.usage.input_tokens) == (len(came), 10 * len(came))
        copied = len(forked.calls) - 1
        assert forked.calls[:copied] == run.calls[:copied]
        assert len(came) == sent + sum(len(reply.samples) + 1 for reply in run.calls[:copied])
        (verdict,) = verify([store.load(forked.id)], live)
        assert verdict.outcome == "same", list(verdict.lines())
    del agent


# ------------------------------------------------------------------ shown


def test_every_reply_is_counted_where_a_run_is_shown(store: TraceStore) -> None:
    _, run = made("failed", "native", store)
    *_, last = describe(record_of(store.path(run.id)))
    assert last.startswith("6 model calls, 5 tool calls, tokens 60 in, 30 out")


def test_what_is_not_known_of_one_that_was_thrown_away_is_said(store: TraceStore) -> None:
    lm = ScriptedLM([text(""), call("weather", {"city": "Oslo"}, usage=None), text("Overcast.")])
    run = MicroAgent([weather], lm=lm, rules=[], traces=store, finish="text").ask("Oslo?")
    assert run.usage.input_tokens is None
    *_, last = describe(record_of(store.path(run.id)))
    assert last.startswith("3 model calls, 1 tool call, tokens unknown")
    counted = statistics([run])
    assert (counted["input_tokens"], counted["unknown"]["input_tokens"], counted["lm_calls"]) == (20, 1, 3)


def test_a_record_survives_being_written_and_read(store: TraceStore, tmp_path: Path) -> None:
    _, run = made("at once", "native", store)
    assert Run.load(run.save(tmp_path / "run.json")) == run
