"""Arguments that a person changed before the call was decided: what the record says of them, and the model is told."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from micro_agent.run.markers import EDITED

if TYPE_CHECKING:
    from micro_agent.run import Run, Step

_LONGEST = 200


def edited_args(run: "Run", call_id: str | None) -> dict[str, Any] | None:
    """The arguments that a person gave a call of the last reply, the latest; ``None`` where nobody changed them."""
    latest = None
    for word in _words(run, call_id):
        latest = word.args["args"]
    return latest


def given_args(run: "Run", call_id: str | None) -> dict[str, Any] | None:
    """The arguments as the model gave them, where a person changed them, else ``None``."""
    return next((word.args["before"] for word in _words(run, call_id)), None)


def told_of(tool: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What the model is told of a change: each argument that is another one, long values cut."""
    texts = [(name, _text(before, name), _text(after, name)) for name in {**before, **after}]
    changes = [f"{name} from {_cut(old)} to {_cut(new)}" for name, old, new in texts if old != new]
    return f"The user changed the arguments of this call of {tool}: {', '.join(changes)}."


def _words(run: "Run", call_id: str | None) -> "Iterator[Step]":
    latest = len(run.calls) - 1
    return (step for step in run.steps if step.tool == EDITED and (step.call, step.call_id) == (latest, call_id))


def _text(args: Mapping[str, Any], name: str) -> str:
    return json.dumps(args[name], ensure_ascii=False) if name in args else "nothing"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
