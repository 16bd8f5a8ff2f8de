"""The ways to fail: each a function from the situation to what the model says instead, where it can fail so."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from random import Random
from typing import Any

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.testing.coding_model import actions, hands
from micro_agent.testing.coding_model.actions import Situation
from micro_agent.testing.coding_model.hands import Call, tables
from micro_agent.testing.coding_model.plan import Edit
from micro_agent.testing.damage import damaged
from micro_agent.testing.reply import Reply, call, decision, final, text


@dataclass(frozen=True, slots=True)
class Failing:
    """What a fault is made from: ``due`` is what would be right, ``row`` the row of the table."""

    at: Situation
    due: Call | str
    row: str
    rng: Random


Fault = Callable[[Failing], Reply | None]


def said(due: Call | str, *, native: bool) -> Reply:
    """A call or an answer as a reply of this mode."""
    if isinstance(due, Call):
        return call(due.name, due.args) if native else decision(due.name, due.args)
    return text(due) if native else final(due)


def failing(fail: Failing, only: frozenset[str]) -> tuple[str, Reply] | None:
    """A fault that is possible here, drawn by its weight, and the reply that it makes; ``None``: none is."""
    weights: dict[str, int] = {name: w for name, w in tables()["faults"][fail.row].items() if name in only}
    while weights:
        name = fail.rng.choices(list(weights), list(weights.values()))[0]
        if (reply := FAULTS[name](fail)) is not None:
            return name, reply
        del weights[name]
    return None


def _made(fail: Failing, due: Call | str | None) -> Reply | None:
    return None if due is None or due == fail.due else said(due, native=fail.at.talk.native)


def _announce(fail: Failing) -> Reply | None:
    words: list[str] | None = tables()["announcements"].get(fail.row)
    return text(fail.rng.choice(words)) if words else None


def _finish(fail: Failing) -> Reply | None:
    return _made(fail, fail.at.known.plan.answer)


def _damage(name: str) -> Fault:
    def damage(fail: Failing) -> Reply | None:
        reply = said(fail.due, native=fail.at.talk.native)
        calls = tuple(RawCall(one.name, one.arguments) for one in reply.calls)
        whole = ModelReply(reply.text, None, calls, reply.finish_reason)
        done = damaged(whole, [name], fail.rng, native=fail.at.talk.native) if isinstance(fail.due, Call) else None
        if done is None:
            return None
        return replace(reply, text=done[1].text, calls=done[1].calls, finish_reason=done[1].finish_reason)

    return damage


def _unknown_tool(fail: Failing) -> Reply | None:
    names = [name for name in tables()["unknown_tools"] if name not in fail.at.talk.tools]
    return _made(fail, Call(fail.rng.choice(names), fail.due.args)) if isinstance(fail.due, Call) else None


def _unknown_argument(fail: Failing) -> Reply | None:
    others: Mapping[str, str] = tables()["other_arguments"]
    if not isinstance(fail.due, Call) or not (known := [key for key in fail.due.args if key in others]):
        return None
    key = fail.rng.choice(known)
    return _made(fail, Call(fail.due.name, {others[k] if k == key else k: v for k, v in fail.due.args.items()}))


def _wrong_path(fail: Failing) -> Reply | None:
    if not isinstance(fail.due, Call):
        return None
    key = hands.roles_of(fail.due.args).get("path")
    if key is None:
        return None
    path = PurePosixPath(str(fail.due.args[key]))
    form = fail.rng.choice([form for form in tables()["lost_paths"] if form != "{name}" or path.name != str(path)])
    lost = form.format(path=path, name=path.name, stem=path.with_suffix(""), suffix=path.suffix)
    return _made(fail, Call(fail.due.name, {**fail.due.args, key: lost}))


def _bad_range(fail: Failing) -> Reply | None:
    if not isinstance(fail.due, Call):
        return None
    if not {"start_line", "end_line"} <= hands.parameters(fail.at.talk.tools, fail.due.name).keys():
        return None
    first, last = fail.rng.choice([(0, 50), (120, 80), (9_000, 9_100), (1, 5_000)])
    return _made(fail, Call(fail.due.name, {**fail.due.args, "start_line": first, "end_line": last}))


def _changed(fail: Failing, new: Callable[[Edit], Edit | None], *kinds: str) -> Reply | None:
    """The edit that is due, changed, with the tool in hand."""
    hand, edits = fail.at.hand, actions.edits_due(fail.at)
    if hand is None or not edits or (kinds and hand.kind not in kinds):
        return None
    edit = new(edits[0])
    return _made(fail, actions.change(fail.at, hand, edit)) if edit is not None else None


def _not_found(fail: Failing) -> Reply | None:
    """The text to replace is told from memory: a word of it is another one."""

    def changed(edit: Edit) -> Edit | None:
        words: list[str] = re.findall(r"[A-Za-z_]\w+", edit.target)
        if not words:
            return None
        word = fail.rng.choice(words)
        return edit.model_copy(update={"target": edit.target.replace(word, f"{word}_value", 1)})

    return _changed(fail, changed, "replace")


def _ambiguous(fail: Failing) -> Reply | None:
    """So little is said of the text to replace that it stands at several places."""

    def changed(edit: Edit) -> Edit | None:
        seen = fail.at.known.page(edit.path).text
        parts = [part for part in re.findall(r"\w+|[^\w\s]+", edit.target) if seen.count(part) > 1]
        return edit.model_copy(update={"target": fail.rng.choice(parts)}) if parts else None

    return _changed(fail, changed, "replace")


def _wrong_edit(fail: Failing) -> Reply | None:
    def changed(edit: Edit) -> Edit | None:
        known = fail.at.known
        same = [one for one in known.plan.wrong if one.path == edit.path and one not in known.standing]
        if fail.at.state == "fix":  # what stands is changed, from one mistake to the next
            same = [one for one in same if any(w.target == one.target for w in known.wrong)]
            return edit.model_copy(update={"replacement": same[0].replacement}) if same else None
        return fail.rng.choice(same) if same else None

    return _changed(fail, changed)


def _bad_diff(fail: Failing) -> Reply | None:
    """A diff of which no place in the file can be known: the unchanged lines are made up, or left out for dots."""
    hand = fail.at.hand
    if hand is None or hand.kind != "diff" or not isinstance(fail.due, Call) or fail.due.name != hand.name:
        return None
    key = hand.roles["diff"]
    lines = str(fail.due.args[key]).split("\n")
    way = fail.rng.choice(["no hunks", "dots", "made up"])
    if way == "no hunks":
        lines = [line for line in lines if not line.startswith(("@@", "---", "+++"))]
    else:
        old = "..." if way == "dots" else " the line before"
        lines = [old if line[:1] in (" ", "-") and not line.startswith("---") else line for line in lines]
    return _made(fail, Call(hand.name, {**fail.due.args, key: "\n".join(lines)}))


def _wrong_patch(fail: Failing) -> Reply | None:
    if not isinstance(fail.due, Call) or "patch_id" not in fail.due.args:
        return None
    return _made(fail, Call(fail.due.name, {**fail.due.args, "patch_id": "patch_1"}))


def _test_first(fail: Failing) -> Reply | None:
    return _made(fail, actions.verifying(fail.at))


def _same_again(fail: Failing) -> Reply | None:
    return _made(fail, fail.at.last)


def _wander(fail: Failing) -> Reply | None:
    tools = fail.at.talk.tools
    looking = [*hands.of_category(tools, "discovery"), *hands.of_category(tools, "search")]
    if not looking:
        return None
    name = fail.rng.choice(looking)
    given: dict[str, Any] = {}
    if "glob" in hands.parameters(tools, name):
        given["glob"] = fail.rng.choice(tables()["wanders"])
    if "pattern" in hands.parameters(tools, name):
        given["pattern"] = fail.rng.choice(re.findall(r"\w+", fail.at.talk.question) or ["TODO"])
    return _made(fail, Call(name, given))


FAULTS: dict[str, Fault] = {
    "announce": _announce,
    "finish": _finish,
    "call_in_prose": _damage("prose"),
    "broken_json": _damage("broken_json"),
    "unknown_tool": _unknown_tool,
    "unknown_argument": _unknown_argument,
    "wrong_path": _wrong_path,
    "bad_range": _bad_range,
    "not_found": _not_found,
    "ambiguous": _ambiguous,
    "wrong_edit": _wrong_edit,
    "bad_diff": _bad_diff,
    "wrong_patch": _wrong_patch,
    "test_first": _test_first,
    "same_again": _same_again,
    "wander": _wander,
}
"""All faults by their names; which happen where, and how often, stands in ``tables.yaml``."""
