"""Good files cut at every byte and damaged at random: readers raise words alone, writers begin on a fresh line."""

import json
import logging
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import lives
import pytest
from damages import DAMAGES
from tally import Tally

from micro_agent.errors import MicroAgentError, StorageError
from micro_agent.evaluation.result import Result
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.task import Task
from micro_agent.files.masking import mask_of
from micro_agent.run import LMCall, Run, Step
from micro_agent.run.questions import digest_of
from micro_agent.storage.decisions import Decision
from micro_agent.storage.folding import fold
from micro_agent.storage.journal import Journal
from micro_agent.storage.records import read_records
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.torture

Answer = TypeVar("Answer")
Rounds = Callable[[str], Iterator[Random]]
LARGE = 64_000
EVERY = 499
"""Large files are cut at each byte around the ends of lines, and elsewhere at one byte in so many."""
SECRET = "sk-canary-0123456789"
ID = "0" * 32
QUESTION: dict[str, Any] = {"tool": "pay", "args": {"letter": SECRET}, "call": 1, "call_id": "b"}
QUESTION["sha256"] = digest_of(QUESTION)
CALL = LMCall(reply={"text": f"é\u2028{SECRET}"}, input_tokens=3)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """A million warnings help nobody."""
    log = logging.getLogger("micro_agent")
    before, log.level = log.level, logging.CRITICAL
    yield
    log.level = before


def steps(size: int) -> list[Step]:
    return [Step(tool="send", args={"letter": SECRET}, observation="é" * size, call=n, call_id="ab"[n]) for n in (0, 1)]


def lived(store: TraceStore, size: int) -> Journal:
    """A run in which everything happens that a journal can hold, up to its end."""
    run = Run(id=ID, question=f"why? {SECRET}")
    journal = store.start(run)
    for number, step in enumerate(steps(size)):
        run.calls.append(CALL)
        journal.replied(CALL)
        if number:
            journal.asked(QUESTION)
            journal.settle(QUESTION, "approve", f"go {SECRET}")
            journal.decided("approve", f"go {SECRET}")
        journal.tool_started(number, step.call_id, "send", step.args, side_effects=True, sync=False)
        run.steps.append(step)
        journal.step(step)
    run.status, run.answer = "completed", "so"
    journal.ended(run)
    return journal


def result(task: str) -> Result:
    run = Run(question=task, answer="é" * 300)
    asked = Task(id=task, question=task, expect_contains=["x"])
    return Result(task=asked, run=run, wall_s=0.1, checks=[], score=1.0, success=True)


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state", environ={"API_KEY": SECRET})


def journal_file(store: TraceStore) -> Path:
    return store.state_dir / "runs" / f"{ID}.journal"


def cuts(data: bytes) -> list[int]:
    """Where to cut: everywhere, or in a large file near the ends of lines and now and then."""
    if len(data) < LARGE / 2:
        return list(range(len(data) + 1))
    ends = [number + 1 for number, one in enumerate(data) if one == 10]
    near = {end + offset for end in ends for offset in range(-3, 4)}
    return sorted((near | set(range(0, len(data), EVERY))) & set(range(len(data) + 1)))


def whole(data: bytes) -> list[bytes]:
    """The lines that are whole; the newline itself may be missing."""
    *lines, last = data.split(b"\n")
    return [*lines, last] if is_object(last) else lines


def is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def after_cut(path: Path, data: bytes) -> None:
    """Nothing of the file as it was cut is changed, and what was added begins on a line of its own."""
    added = path.read_bytes()
    assert added.startswith(data)
    assert not data or data.endswith(b"\n") or added[len(data) :].startswith(b"\n")


@pytest.mark.parametrize("size", [10, LARGE // 4])
def test_a_journal_cut_at_every_byte(size: int, store: TraceStore, tally: Tally) -> None:
    lived(store, size).close()
    path = journal_file(store)
    data = path.read_bytes()
    after: list[Run] = []
    for number, _ in enumerate(data.splitlines(), 1):
        path.write_bytes(b"".join(data.splitlines(keepends=True)[:number]))
        after.append(store.peek(ID))
    for end in cuts(data):
        path.write_bytes(data[:end])
        lines = whole(data[:end])
        if not lines:
            with pytest.raises(StorageError, match="no event starts a run"):
                store.resume(ID)
            tally.count("journal cut", {"not begun": 1}, harmed=1)
            continue
        expected, torn = after[len(lines) - 1], not data[:end].endswith((b"\n", lines[-1]))
        journal = store.resume(ID)
        assert journal.damage == (f"line {len(lines) + 1}: cut off while it was written" if torn else None)
        lost = (journal.run.calls, journal.run.steps) != (expected.calls, expected.steps)
        journal.replied(CALL)
        journal.close()
        after_cut(path, data[:end])
        lost |= store.peek(ID).calls != [*expected.calls, CALL]
        tally.count("journal cut", {"resumed": 1, "torn": torn, "lost": lost}, harmed=1)


@pytest.mark.parametrize("size", [10, LARGE // 3])
def test_a_trace_cut_at_every_byte(size: int, store: TraceStore, tally: Tally) -> None:
    runs = [Run(id=ID, question=word, answer="é" * size) for word in ("one", "two", "three")]
    last = Run(id=ID, question="after")
    for run in runs:
        store.append(run)
    path = store.path(ID)
    data = path.read_bytes()
    for end in cuts(data):
        path.write_bytes(data[:end])
        lines = whole(data[:end])
        records = list(read_records(path))
        torn = bool(lines and not data[:end].endswith((b"\n", lines[-1]))) or bool(not lines and end)
        lost = [record.run for record in records if record.run] != runs[: len(lines)]
        assert ("cut off while it was written" in [record.fault for record in records]) == torn
        store.append(last)
        after_cut(path, data[:end])
        lost |= [record.run for record in read_records(path) if record.run] != [*runs[: len(lines)], last]
        tally.count("trace cut", {"on record": 1, "torn": torn, "lost": lost}, harmed=1)


def test_a_saved_run_cut_at_every_byte(tmp_path: Path, tally: Tally) -> None:
    run = Run(question="why?", answer="é" * 300)
    data = run.save(tmp_path / "run.json").read_bytes()
    for end in cuts(data):
        (tmp_path / "run.json").write_bytes(data[:end])
        if not whole(data[:end]):
            with pytest.raises(StorageError, match="is not a saved run"):
                Run.load(tmp_path / "run.json")
            tally.count("saved run cut", {"not begun": 1}, harmed=1)
        else:
            tally.count("saved run cut", {"on record": 1, "lost": Run.load(tmp_path / "run.json") != run}, harmed=1)


def test_a_decision_cut_at_every_byte(store: TraceStore, tally: Tally) -> None:
    journal = store.start(Run(id=ID, question="why?"))
    journal.asked(QUESTION)
    store.decide(ID, "reject", feedback=f"é {SECRET}")
    (path,) = (store.state_dir / "runs").glob("*.decision")
    data = path.read_bytes()
    for end in cuts(data):
        path.write_bytes(data[:end])
        if not whole(data[:end]):
            with pytest.raises(StorageError, match="delete it and decide again"):
                journal.decision(QUESTION)
            tally.count("decision cut", {"torn": 1}, harmed=1)
        else:
            lost = journal.decision(QUESTION) != Decision("reject", f"é {SECRET}")
            tally.count("decision cut", {"on record": 1, "lost": lost}, harmed=1)
    path.write_bytes(data[: len(data) // 2])
    assert "is damaged" in str(store.open_runs()[0].damage)
    path.unlink()
    store.decide(ID, "approve")
    assert journal.decision(QUESTION) == Decision("approve")


def test_results_cut_at_every_byte(tmp_path: Path, tally: Tally) -> None:
    path = tmp_path / "results.jsonl"
    with ResultFile.create(path, lives.header_of_an_eval()) as file:
        for name in ("t0", "t1", "t2"):
            file.append(result(name))
    data = path.read_bytes()
    for end in cuts(data):
        path.write_bytes(data[:end])
        lines = data[:end].count(b"\n")
        if not lines:
            with pytest.raises(StorageError, match="is not a result file"):
                read_results(path)
            tally.count("results cut", {"not begun": 1}, harmed=1)
            continue
        names = ["t0", "t1", "t2"][: lines - 1]
        lost = [one.task.id for one in read_results(path)[1]] != names
        with ResultFile.resume(path) as file:
            lost |= sorted(file.done) != [(name, 0) for name in names]
            file.append(result("after"))
        lost |= [one.task.id for one in read_results(path)[1]] != [*names, "after"]
        tally.count("results cut", {"resumed": 1, "torn": not data[:end].endswith(b"\n"), "lost": lost}, harmed=1)


# Damage at random


def words(work: Callable[[], Answer]) -> Answer | None:
    """What work returns; ``None`` when it says in one line why not. Nothing else may come out of it."""
    try:
        return work()
    except MicroAgentError as error:
        said = str(error)
    assert "\n" not in said
    return None


def harm(path: Path, good: bytes, random: Random) -> bytes:
    """Damage a file once to three times; returns its whole lines before the first damage."""
    data = good
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice(DAMAGES)(data, random) if data else data
    path.write_bytes(data)
    same = [*takewhile(lambda pair: pair[0] == pair[1], zip(good, data, strict=False))]
    return good[: good.rfind(b"\n", 0, len(same)) + 1]


def test_a_journal_damaged_at_random(store: TraceStore, tally: Tally, rounds: Rounds) -> None:
    lived(store, 700).close()
    path = journal_file(store)
    files = {file: file.read_bytes() for file in path.parent.iterdir()}
    for random in rounds("journal damaged at random"):
        for file, content in files.items():
            file.write_bytes(content)
        if random.random() < 0.3:
            file = random.choice(list(files))
            harm(file, files[file], random)
        before = harm(path, files[path], random)
        assert len(store.open_runs()) == 1
        if random.random() < 0.1:
            words(lambda: store.decide(ID, "approve"))
        run, journal = words(lambda: store.peek(ID)), words(lambda: store.resume(ID))
        found = {"resumed": journal is not None, "unreadable": (run is None) != (journal is None)}
        found["lost"] = bool(before) and journal is None and not asks_something_else(store)
        if journal is not None:
            found["lost"] = bool(before) and forgets(journal, before)
            use(journal, to_the_end=random.random() < 0.1)
        tally.count("journal damaged at random", found, harmed=1)


def asks_something_else(store: TraceStore) -> bool:
    """Whether the damage has made another question of one, so that the run is refused until somebody looks at it."""
    return "asks something else than was asked" in str(store.open_runs()[0].damage)


def forgets(journal: Journal, before: bytes) -> bool:
    """Whether something of the whole lines before the damage is missing, or a tool in them seems not to have begun."""
    expected = fold(before.splitlines(keepends=True), mask=mask_of({"API_KEY": SECRET}))
    done = {(step.call, step.call_id) for step in journal.run.steps}
    begun = [key for key in expected.pending.started if key not in done]
    return not begins_with(journal.run, expected.run) or not all(journal.interrupted(*key) for key in begun)


def use(journal: Journal, *, to_the_end: bool) -> None:
    """Go on with a run; its end waits for the disk."""
    words(lambda: journal.decision(QUESTION))
    words(lambda: journal.replied(CALL))
    if to_the_end:
        words(lambda: journal.settle(QUESTION, "approve"))
        words(lambda: journal.finish(journal.run.model_copy(update={"status": "completed"})))
    journal.close()


def begins_with(run: Run, other: Run) -> bool:
    """Whether all replies and steps of another run are the first ones of this run."""
    return run.calls[: len(other.calls)] == other.calls and run.steps[: len(other.steps)] == other.steps


def test_a_trace_damaged_at_random(store: TraceStore, tally: Tally, rounds: Rounds) -> None:
    for word in ("one", "two", "three"):
        store.append(Run(id=ID, question=f"{word} {SECRET}", steps=steps(500), calls=[CALL]))
    path = store.path(ID)
    good, last = path.read_bytes(), Run(id=ID, question="after")
    for random in rounds("trace damaged at random"):
        expected = harm(path, good, random).splitlines()
        store_before = path.read_bytes()
        read = [record.run for record in read_records(path) if record.run]
        loaded = words(lambda: store.load(ID))
        assert (loaded and loaded.question) == (read[-1].question if read else None)
        store.append(last)
        after_cut(path, store_before)
        kept = [record.run for record in read_records(path) if record.run]
        lost = kept[-1] != last or [run.question for run in kept[:-1]] != [run.question for run in read]
        lost |= [run.question.split()[0] for run in read[: len(expected)]] != ["one", "two", "three"][: len(expected)]
        tally.count("trace damaged at random", {"on record": bool(read), "lost": lost}, harmed=1)


def test_a_saved_run_and_a_decision_damaged_at_random(
    store: TraceStore, tmp_path: Path, tally: Tally, rounds: Rounds
) -> None:
    saved = Run(question="why?", steps=steps(100), calls=[CALL]).save(tmp_path / "run.json")
    journal = store.start(Run(id=ID, question="why?"))
    journal.asked(QUESTION)
    store.decide(ID, "reject", feedback=SECRET)
    (decision,) = (store.state_dir / "runs").glob("*.decision")
    good = {path: path.read_bytes() for path in (saved, decision)}
    for random in rounds("decision, saved run damaged at random"):
        for path, content in good.items():
            harm(path, content, random)
        run, decided = words(lambda: Run.load(saved)), words(lambda: journal.decision(QUESTION))
        assert isinstance(run, Run | None)
        assert isinstance(decided, Decision | None)
        words(lambda: store.open_runs()[0])
        tally.count("decision, saved run damaged at random", {"on record": run is not None}, harmed=1)


def test_results_damaged_at_random(tmp_path: Path, tally: Tally, rounds: Rounds) -> None:
    path = tmp_path / "results.jsonl"
    with ResultFile.create(path, lives.header_of_an_eval()) as file:
        for name in ("t0", "t1", "t2"):
            file.append(result(name))
    good = path.read_bytes()
    for random in rounds("results damaged at random"):
        names = [f"t{number}" for number in range(len(harm(path, good, random).splitlines()) - 1)]
        read = words(lambda: [one.task.id for one in read_results(path)[1]])
        found = {"lost": read is not None and not set(names) <= set(read), "unreadable": bool(names) and read is None}
        resumed = words(lambda: ResultFile.resume(path))
        if resumed is not None:
            with resumed:
                resumed.append(result("after"))
            found["lost"] |= not {*names, "after"} <= {one.task.id for one in read_results(path)[1]}
        tally.count("results damaged at random", {**found, "resumed": resumed is not None}, harmed=1)
