"""What the model knows by now, from what it did and was told: what was read, which edits stand, what the tests said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from micro_agent.coding import category_of
from micro_agent.testing.coding_model import hands
from micro_agent.testing.coding_model.conversation import Conversation, Said
from micro_agent.testing.coding_model.hands import Changer
from micro_agent.testing.coding_model.pages import Page
from micro_agent.testing.coding_model.plan import Edit, Plan

State = Literal["search", "read", "edit", "apply", "test", "fix", "answer"]
Tests = Literal["not run", "passed", "failed", "no result"]


@dataclass(slots=True)
class Known:
    """``standing``: the edits that are in the files; ``waiting``: approved ones that are not, by the ids of patches."""

    plan: Plan
    changers: dict[str, Changer]
    searched: bool = False
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    stale: set[str] = field(default_factory=set[str])
    standing: list[Edit] = field(default_factory=list[Edit])
    waiting: dict[str, Edit] = field(default_factory=dict[str, Edit])
    tests: Tests = "not run"

    @property
    def left(self) -> list[Edit]:
        """The edits that are still to be made, as far as the model believes: a wrong one counts as one of them."""
        rest = [edit for edit in self.plan.edits if edit not in self.standing]
        for wrong in self.wrong:
            same = [edit for edit in rest if edit.path == wrong.path]
            meant = [edit for edit in same if edit.target == wrong.target] or same
            if meant:
                rest.remove(meant[0])
        return [edit for edit in rest if not self._seen(edit)]

    @property
    def wrong(self) -> list[Edit]:
        """The edits that stand and are none of the plan's."""
        return [edit for edit in self.standing if edit not in self.plan.edits]

    @property
    def repairs(self) -> list[Edit]:
        """What makes the wrong edits right: each becomes the one it stands for, or is taken back."""
        rest = [edit for edit in self.plan.edits if edit not in self.standing]
        return [_repair(wrong, rest) for wrong in self.wrong]

    @property
    def unread(self) -> list[str]:
        """The files of the plan that were not read."""
        return [path for path in self.plan.read if path not in self.pages]

    def page(self, path: str) -> Page:
        """What was read of a file, unless it was changed since."""
        return Page() if path in self.stale else self.pages.get(path, Page())

    def _seen(self, edit: Edit) -> bool:
        """Whether a file was read that has this edit already."""
        text, new = self.page(edit.path).text, edit.replacement.strip("\n")
        return bool(new) and new in text and (edit.target.strip("\n") not in text or edit.target in edit.replacement)


def known_of(talk: Conversation, plan: Plan, *, believing: bool = False) -> Known:
    """What the model knows. ``believing``: it takes its last call for a success, whatever it was told."""
    known = Known(plan, {**hands.used(talk.said), **{changer.name: changer for changer in hands.changers(talk.tools)}})
    finders = hands.finders(talk.tools)
    for at, said in enumerate(talk.said):
        trusting = believing and at == len(talk.said) - 1
        if said.name is None or not (said.ok or trusting):
            _no_result(known, said)
            continue
        known.searched = known.searched or said.name in finders or category_of(said.name) == "search"
        _note(known, said, trusting=trusting)
    return known


def _note(known: Known, said: Said, *, trusting: bool) -> None:
    result, name = said.result or {}, said.name or ""
    category = category_of(name)
    if category == "read":
        path = str(result.get("path") or said.args.get("path"))
        if path in known.stale:
            known.stale.discard(path)
            known.pages.pop(path)
        known.pages.setdefault(path, Page()).add(cast("list[str]", result.get("lines") or []))
    elif category == "verify":
        known.tests = "passed" if trusting or passed(result) else "failed"
    elif name in known.changers:
        changed = _intended(known, name, said.args)
        if result.get("patch_id") is None:
            _stand(known, [changed])
        elif result.get("approved"):
            known.waiting[str(result["patch_id"])] = changed
    elif "patch_id" in said.args and (trusting or "files_changed" in result):
        done = known.waiting.pop(str(said.args["patch_id"]), None)
        _stand(known, [done] if done is not None else [])


def _no_result(known: Known, said: Said) -> None:
    """A test command that cannot run here is tried once."""
    if said.result is not None and said.suggested is None and category_of(said.name or "") == "verify":
        known.tests = "no result"


def passed(result: dict[str, Any]) -> bool:
    """Whether a command says that all is well."""
    return result.get("ok", result.get("exit") == 0) is True and not result.get("failed")


def _stand(known: Known, edits: Iterable[Edit]) -> None:
    for edit in edits:
        known.tests = "not run"
        known.stale.add(edit.path)
        known.pages.setdefault(edit.path, Page())
        upon = [one for one in known.standing if one.path == edit.path and one.replacement == edit.target]
        if not upon:
            known.standing.append(edit)
            continue
        known.standing.remove(upon[0])
        whole = Edit(path=edit.path, target=upon[0].target, replacement=edit.replacement)
        if whole.target != whole.replacement:
            known.standing.append(whole)


def _repair(wrong: Edit, rest: Sequence[Edit]) -> Edit:
    meant = [edit for edit in rest if edit.path == wrong.path and edit.target == wrong.target]
    new = meant[0].replacement if meant else wrong.target
    return Edit(path=wrong.path, target=wrong.replacement, replacement=new)


def _intended(known: Known, name: str, args: dict[str, Any]) -> Edit:
    """The edit that a call meant: one of the plan's, or of what it takes to mend wrong ones; else what it says."""
    path, old, new = hands.meant(known.changers[name], args, known.pages)
    candidates = [one for one in (*known.repairs, *known.plan.edits, *known.plan.wrong) if one.path == path]
    exact = [one for one in candidates if _comes_to(one, old, new)]
    loose = [one for one in candidates if _comes_to(_squeezed(one), _squeeze(old), _squeeze(new))]
    return (exact or loose or [Edit(path=path, target=old, replacement=new)])[0]


def _comes_to(edit: Edit, old: str, new: str) -> bool:
    """Whether an edit makes of the old text the new one; newlines at the end do not count."""
    target, replacement = edit.target.rstrip("\n"), edit.replacement.rstrip("\n")
    made = old.rstrip("\n").replace(target, replacement, 1)
    return target in old and made.rstrip("\n") == new.rstrip("\n")


def _squeezed(edit: Edit) -> Edit:
    return Edit(path=edit.path, target=_squeeze(edit.target), replacement=_squeeze(edit.replacement))


def _squeeze(text: str) -> str:
    return "".join(text.split())


def state_of(known: Known, *, searches: bool, verifies: bool) -> State:
    """What is to be done next. ``searches``, ``verifies``: there is a tool that finds a place, that runs tests."""
    if known.waiting:
        return "apply"
    begun = known.searched or bool(known.pages) or bool(known.standing)
    if searches and known.plan.search and not begun:
        return "search"
    if known.unread:
        return "read"
    if known.left:
        return "edit"
    if verifies and known.tests == "not run" and (known.plan.needs_change or known.plan.test):
        return "test"
    return "fix" if known.tests == "failed" and known.repairs else "answer"
