"""Every field of a question edited, on every place where it lies: what runs is what was shown, or nothing."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from damages import VALUES
from tally import Tally

from micro_agent import MicroAgent, Tool
from micro_agent.errors import MicroAgentError
from micro_agent.run.questions import digest_of
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.torture

SECRET = "sk-canary-0123456789"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "deep": {"type": "array"}}, "required": ["path"]}
ARGS = {"path": f"a {SECRET}", "deep": [{"b": "c"}, 1]}
EVENTS = ("asked", "reply", "step", "started")


def edits(value: Any) -> Iterator[Any]:
    """``value`` with one thing of it changed, removed or added, at any depth."""
    yield from (other for other in (*VALUES, "harmless", {"path": "harmless"}) if other != value)
    if isinstance(value, dict):
        yield {**value, "note": "harmless"}
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield {key: kept for key, kept in value.items() if key != name}  # pyright: ignore[reportUnknownVariableType]
            yield from ({**value, name: other} for other in edits(item))
    if isinstance(value, list):
        for at, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from ([*value[:at], other, *value[at + 1 :]] for other in edits(item))


def edited(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A line of the journal after each edit; a question also with a digest made to fit, of a reply the arguments."""
    if line["event"] == "reply":
        decision = line["call"]["decision"]
        asked = decision["tool_calls"][0]
        for other in filter(lambda args: isinstance(args, dict), edits(asked["args"])):
            changed = {**decision, "tool_calls": [{**asked, "args": other}]}
            yield {**line, "call": {**line["call"], "decision": changed}}
        return
    for other in edits(line):
        if isinstance(other, dict):
            data = cast("dict[str, Any]", other)
            yield data
            if isinstance(question := data.get("confirmation"), dict):
                forged = {**cast("dict[str, Any]", question)}
                yield {**data, "confirmation": {**forged, "sha256": digest_of(forged)}}


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state", environ={"API_KEY": SECRET})


@pytest.mark.parametrize("event", EVENTS)
def test_what_runs_is_what_was_shown(store: TraceStore, tally: Tally, event: str) -> None:
    done: list[dict[str, Any]] = []

    def delete(**args: Any) -> None:
        done.append(args)

    tool = Tool("delete", "Delete.", SCHEMA, delete, requires_confirmation=True)
    agent = MicroAgent(tools=[tool], lm=ScriptedLM([call("delete", ARGS)]), rules=[], traces=store)
    run = agent.ask("Tidy up.")
    path = store.state_dir / "runs" / f"{run.id}.journal"
    lines = path.read_bytes().splitlines(keepends=True)
    at = max(number for number, line in enumerate(lines) if json.loads(line)["event"] == event)
    for line in edited(json.loads(lines[at])):
        for left in path.parent.iterdir():
            left.unlink()
        done.clear()
        path.write_bytes(b"".join([*lines[:at], json.dumps(line).encode() + b"\n", *lines[at + 1 :]]))
        shown = None
        with suppress(MicroAgentError):
            shown = store.decide(run.id, "approve")
            follower = MicroAgent(tools=[tool], lm=ScriptedLM([text("Done.")]), rules=[], traces=store)
            follower.resume(run.id)
        assert len(done) <= 1
        assert not done or (shown is not None and (shown["tool"], shown["args"]) == ("delete", done[0])), line
        tally.count(f"question edited: {event}", {"unreadable": 0, "done twice": len(done) > 1}, harmed=1)
