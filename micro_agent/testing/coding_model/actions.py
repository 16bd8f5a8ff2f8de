"""What is right to do in a state: a call, or the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from micro_agent.coding import category_of
from micro_agent.testing.coding_model import hands
from micro_agent.testing.coding_model.conversation import Conversation
from micro_agent.testing.coding_model.hands import Call, Changer
from micro_agent.testing.coding_model.knowing import Known, State, state_of
from micro_agent.testing.coding_model.plan import Edit

_TRIES = 2
"""So often the right call is made before the model says that it cannot be done."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision is made from. ``hand``: the tool for changes that this run keeps to."""

    talk: Conversation
    known: Known
    state: State
    hand: Changer | None

    @property
    def last(self) -> Call | None:
        """The model's last call, if the last thing it said was one."""
        said = self.talk.said[-1] if self.talk.said else None
        return Call(said.name, said.args) if said is not None and said.name is not None else None


def situation(talk: Conversation, known: Known, seed: int) -> Situation:
    """Where the model stands."""
    verifies = bool(hands.of_category(talk.tools, "verify"))
    state = state_of(known, searches=bool(hands.finders(talk.tools)), verifies=verifies)
    return Situation(talk, known, state, _hand(known, talk, seed))


def _hand(known: Known, talk: Conversation, seed: int) -> Changer | None:
    """One of the tools for changes: the one that was used last, else any; the same all through a run."""
    used = [known.changers[said.name] for said in talk.said if said.name in known.changers]
    if used or not known.changers:
        return used[-1] if used else None
    return Random(f"{seed} {talk.question}").choice(list(known.changers.values()))


def right(at: Situation) -> Call | str:
    """The right next thing: a call, or the answer where nothing is left, or nothing that can be done."""
    due = _ACTIONS[at.state](at)
    return at.known.plan.answer if due is None or _in_vain(at, due) else due


def _in_vain(at: Situation, due: Call) -> bool:
    """Whether this very call failed several times, and nothing said what else to do."""
    same = [said for said in at.talk.said if (said.name, said.args) == (due.name, due.args)]
    return sum(not said.ok and not said.notice and said.suggested is None for said in same) >= _TRIES


def with_tool(at: Situation, names: Sequence[str]) -> Call | None:
    """Something sensible to do with one of these tools; the right thing if that is one of them."""
    best = right(at)
    if isinstance(best, Call) and best.name in names:
        return best
    for name in names:
        if (made := _with(at, name)) is not None:
            return made
    return None


def _with(at: Situation, name: str) -> Call | None:
    plan, category = at.known.plan, category_of(name)
    if name in at.known.changers:
        edits = edits_due(at)
        return change(at, at.known.changers[name], edits[0]) if edits else None
    if category == "search" and plan.search:
        return _search(at)
    if category == "read" and plan.read:
        return _reading(at, (at.known.unread or plan.read)[0])
    if category == "verify" and (plan.test or "test_cmd" in hands.parameters(at.talk.tools, name)):
        return verifying(at)
    return Call(name, {}) if category == "discovery" else None


def edits_due(at: Situation) -> list[Edit]:
    """The edits to make next: where tests failed, those that mend what is wrong."""
    return at.known.repairs if at.state == "fix" else at.known.left


def change(at: Situation, changer: Changer | None, edit: Edit) -> Call | None:
    """The call for an edit; the file is read first where that has to be."""
    if changer is None:
        return None
    if not edit.target:  # not every tool makes files
        others = [one for one in at.known.changers.values() if one.kind == "diff" or "intent" in one.roles]
        changer = others[0] if others and changer not in others else changer
    made = hands.changing(changer, edit, at.known.page(edit.path))
    if made is not None:
        return made
    again = _reading(at, edit.path)
    return _snippet(at, edit) if again == at.last else again


def _snippet(at: Situation, edit: Edit) -> Call | None:
    """Reading around the place of an edit that the beginning of the file does not show."""
    lines = [line for line in edit.target.splitlines() if line.strip()]
    for name in hands.of_category(at.talk.tools, "read"):
        if "query" in hands.parameters(at.talk.tools, name) and lines:
            return Call(name, {"path": edit.path, "query": lines[0]})
    return None


def verifying(at: Situation) -> Call | None:
    """The call that runs the tests."""
    for name in hands.of_category(at.talk.tools, "verify"):
        given = hands.parameters(at.talk.tools, name)
        key = "test_cmd" if "test_cmd" in given else "cmd"
        if at.known.plan.test or key == "test_cmd":
            return Call(name, {key: at.known.plan.test} if at.known.plan.test else {})
    return None


def _search(at: Situation) -> Call | None:
    for name in hands.finders(at.talk.tools):
        sought = "pattern" in hands.parameters(at.talk.tools, name)
        return Call(name, {"pattern": at.known.plan.search} if sought else {})
    return None


def _reading(at: Situation, path: str) -> Call | None:
    for name in hands.of_category(at.talk.tools, "read"):
        return Call(name, {"path": path})
    return None


def _read(at: Situation) -> Call | None:
    return _reading(at, at.known.unread[0])


def _edit(at: Situation) -> Call | None:
    return change(at, at.hand, edits_due(at)[0])


def _apply(at: Situation) -> Call | None:
    name = hands.applier(at.talk.tools)
    return Call(name, {"patch_id": next(iter(at.known.waiting))}) if name and at.known.waiting else None


def _answer(at: Situation) -> None:
    return None


_ACTIONS = {
    "search": _search, "read": _read, "edit": _edit, "apply": _apply, "test": verifying, "fix": _edit,
    "answer": _answer,
}  # fmt: skip
