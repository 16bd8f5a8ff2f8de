"""What the index counts and lists is what the traces say, whatever stands in them."""

import json
import logging
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from micro_agent.errors import MicroAgentError
from micro_agent.replay import statistics
from micro_agent.run import LMCall, Run, Step, Usage
from micro_agent.traces import TraceStore
from tests.index.desk import Desk


class Reader:
    """Reads runs from their traces, and notes what it says of those that it cannot read."""

    def __init__(self, store: TraceStore) -> None:
        self.store = store
        self.errors: list[str] = []
        self.read: list[str] = []

    def __call__(self, ids: Iterable[str]) -> Iterator[Run]:
        for run_id in ids:
            self.read.append(run_id)
            try:
                yield self.store.load(run_id, earlier=False)
            except MicroAgentError as error:
                self.errors.append(str(error))


def both_ways(desk: Desk, caplog: pytest.LogCaptureFixture | None = None) -> dict[str, Any]:
    """The figures of the index, which are those of the traces; so is what is said of traces that are damaged."""
    told: list[tuple[str, list[str], list[str]]] = []
    for by_index in (True, False):
        reader = Reader(desk.store)
        if caplog:
            caplog.clear()
        found = desk.index.statistics(reader) if by_index else statistics(reader(desk.store.ids()))
        told.append((json.dumps(found), reader.errors, [*caplog.messages] if caplog else []))
    assert told[0] == told[1]
    return json.loads(told[0][0])


def odd_traces(desk: Desk) -> dict[str, str]:
    """Traces of every kind; the ids of some by a name."""
    said, silent = LMCall(reply={}, input_tokens=12, output_tokens=5, cost_usd=0.1), LMCall(reply={})
    step = Step(tool="ask_other", usage=Usage(lm_calls=2, input_tokens=None, output_tokens=7, cost_usd=0.3))
    usage = Usage(lm_calls=4, tool_calls=1, input_tokens=None, output_tokens=None, cost_usd=None, latency_s=0.25)
    names: dict[str, str] = {}
    names["unknown"] = desk.ran(calls=[said, silent], steps=[step], usage=usage).id
    names["priced"] = desk.ran(usage=Usage(lm_calls=1, cost_usd=0.7, latency_s=0.125)).id
    names["free"] = desk.ran(status="stopped", termination_reason="max_steps", usage=Usage(latency_s=3.5)).id
    names["open"] = desk.ran(status="running").id
    paused = desk.ran(status="confirmation_required", termination_reason="confirmation_required")
    paused.status, paused.termination_reason = "completed", "final"
    desk.store.append(paused)
    for name, line in {
        "torn": b'{"id": "cut o', "garbage": b"garbage\n", "no run": b'{"question": 1}\n\n \n', "a list": b"[1]\n",
        "surrogate": b'{"question": "\\ud800"', "newer": b'{"question": "x", "schema_version": 99}\n',
        "versioned": b'{"question": "x", "schema_version": "two"}\n',
        "nan": b'{"question": "x", "usage": {"cost_usd": NaN}}\n',
        "dear": b'{"question": "x", "usage": {"cost_usd": 1e300, "latency_s": "NaN"}}\n',
        "huge": b'{"question": "x", "usage": {"input_tokens": 99999999999999999999999}}\n',
        "lax": b'{"question": "x", "usage": {"lm_calls": "7", "latency_s": "1.5"}}\n',
        "reason": b'{"question": "x", "termination_reason": "two\\nlines"}',
        "other id": b'{"question": "other", "id": "%s"}' % (b"e" * 32),
    }.items():  # fmt: skip
        names[name] = desk.ran(usage=Usage(cost_usd=0.1, latency_s=0.5)).id
        with desk.store.path(names[name]).open("ab") as file:
            file.write(line.replace(b'"question": "x"', b'"question": "x", "id": "%s"' % names[name].encode()))
    for name, content in {"empty": b"", "unreadable": b"{}\n{", "blank": b"\n\n"}.items():
        names[name] = desk.ran().id
        desk.store.path(names[name]).write_bytes(content)
    for number, run_id in enumerate(sorted(desk.store.ids())):
        os.utime(desk.store.path(run_id), ns=(0, 10**18 + number // 2))
    return names


def test_the_figures_of_the_index_are_those_of_the_traces(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "micro_agent")
    assert both_ways(desk) == statistics([])
    names = odd_traces(desk)
    found = both_ways(desk, caplog)
    assert (found["runs"], found["unknown"]["input_tokens"]) == (18, 3)
    assert found["status"] == {"completed": 9, "running": 8, "stopped": 1}
    reader = Reader(desk.store)
    desk.index.statistics(reader)
    odd = {"torn", "garbage", "no run", "a list", "surrogate", "newer", "versioned", "nan", "dear", "huge", "reason"}
    assert set(reader.read) == {names[name] for name in odd | {"empty", "unreadable", "blank"}}
    assert len(reader.errors) == 3
    listed = desk.index.newest(100)
    assert listed == list(desk.store.ids())
    assert len(desk.index.newest(3) or ()) >= 3
    assert desk.said == []
