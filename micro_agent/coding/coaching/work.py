"""What the steps of a run have come to: what was read and searched, changed, applied and verified, and what was said.

One pass over the steps. No tool is known by its name here: what kind of work each does is declared in
`micro_agent.coding`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.coding import Category, category_of
from micro_agent.rules.limits import COUNTED_MARKERS
from micro_agent.run import POLICY_VIOLATION, SELF_CORRECTION, WARNING, Run, Step

LOST, STUCK, MISSING = "No progress yet", "Still no progress", "Still missing"
"""How the warnings begin: nothing but a look around so far, that again, and what the gates lack."""
QUESTION = "If no change is needed, answer again and say why."
"""Is asked once the code was searched and read: before that, the model cannot know."""
_CANNOT_RUN = frozenset({
    "SANDBOX_UNAVAILABLE", "APPROVAL_REQUIRED", "APPROVAL_REJECTED", "APPROVAL_EXPIRED", "CMD_TIMEOUT",
})  # fmt: skip
"""Codes of a verification for which the model can do nothing."""
_NO_SEARCH = "RG_MISSING"
_NOT_A_PROGRAM = (126, 127)
"""Exit statuses of a command that could not be started: no test has failed."""


@dataclass(frozen=True, slots=True)
class Done:
    """A step of a tool: its number from 1 as a person is shown it, its kind of work, and its whole result."""

    number: int
    step: Step
    category: Category | None

    @property
    def result(self) -> Mapping[str, Any]:
        """All that the tool returned; nothing where that is no object."""
        seen = self.step.observation if self.step.result is None else self.step.result
        return cast("Mapping[str, Any]", seen) if isinstance(seen, dict) else {}

    @property
    def fails(self) -> bool:
        """Whether it ran tests, and they failed."""
        result = self.result
        if self.category != "verify" or not self.step.ok or result.get("exit") in _NOT_A_PROGRAM:
            return False
        return result.get("ok") is False or bool(result.get("failures"))

    @property
    def is_green(self) -> bool:
        """Whether it ran tests, and all passed."""
        return self.result.get("ok") is True and self.result.get("passed") != 0

    @property
    def went_well(self) -> bool:
        """Whether it came to what it was called for: a rejected patch and failing tests did not."""
        return self.step.ok and not self.fails and self.result.get("approved") is not False

    @property
    def path(self) -> str | None:
        """The file that it is about."""
        named = self.result.get("path") or self.step.args.get("path") or self.result.get("file_path")
        return named if isinstance(named, str) else None


@dataclass(slots=True)
class Work:
    """What was done in a run so far, in the order of its steps."""

    taken: int = 0
    """Steps as ``max_steps`` counts them."""
    tools: list[Done] = field(default_factory=list[Done])
    read: dict[str, Done] = field(default_factory=dict[str, Done])
    """By file, the step that read it first."""
    search: Done | None = None
    """The first search; where there is nothing to search with, the step that found that out."""
    found: Done | None = None
    """The last step that named files: a search, or a list."""
    proposed: list[Done] = field(default_factory=list[Done])
    """All proposals, rejected ones too."""
    waiting: dict[str, Done] = field(default_factory=dict[str, Done])
    """Approved patches that are not applied, by id."""
    applied: list[Done] = field(default_factory=list[Done])
    edits: list[Done] = field(default_factory=list[Done])
    tests: Done | None = None
    """The last verification, whenever it was."""
    verified: Done | None = None
    """The last one after the last change."""
    tested: Done | None = None
    """The last one of these that says whether tests passed."""
    tried: Done | None = None
    """One after the last change that could not be run."""
    is_excused: bool = False
    """Whether a finish was refused after that."""
    asked: int | None = None
    """The number of the first step that asked whether a change is needed, when there was none, and none tried since."""
    blocks: int = 0
    """So often in a row a finish was refused, with nothing gained between."""
    is_blocked: bool = False
    """Whether the last of the counted steps is such a refusal."""
    warned: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """The warnings, with the number of steps taken before each."""
    rounds: int = 0
    """So often failing tests were given back to be fixed."""
    corrects: bool = False
    """Whether nothing was changed since the last time."""
    before: tuple[object, ...] = ()
    """What was `gained` when a finish was refused for the last time."""

    @property
    def last_change(self) -> Done | None:
        """The last step that changed files."""
        return max([*self.applied[-1:], *self.edits[-1:]], key=lambda done: done.number, default=None)

    @property
    def is_changed(self) -> bool:
        """Whether a patch was proposed that a person agreed to, or a file changed."""
        return bool(self.waiting or self.applied or self.edits)

    @property
    def no_progress(self) -> bool:
        """Whether nothing was searched, read, proposed, changed or verified yet."""
        return not (self.read or self.search or self.proposed or self.tests or self.is_changed)

    def gained(self) -> tuple[object, ...]:
        """What is different once any gate has more to show."""
        green = self.tested is not None and self.tested.is_green
        changes = (len(self.waiting), len(self.applied), len(self.edits))
        return bool(self.read), self.search is not None, changes, self.verified is not None, green


def work_of(run: Run) -> Work:
    """What the steps of a run have come to."""
    work = Work()
    for number, step in enumerate(run.steps, 1):
        work.taken += step.is_tool or step.tool in COUNTED_MARKERS
        if step.is_tool:
            work.is_blocked = False
            work.tools.append(done := Done(number, step, category_of(step.tool)))
            _TAKES[done.category](work, done)
        else:
            _hear(work, number, step)
    return work


def known_before(run: Run, category: Category) -> Iterator[tuple[Run, Done]]:
    """Steps of this kind that went well in earlier turns of the conversation, the latest turn first."""
    for earlier in reversed(run.earlier):
        for number, step in enumerate(earlier.steps, 1):
            if step.ok and category_of(step.tool) == category:
                yield earlier, Done(number, step, category)


def _hear(work: Work, number: int, step: Step) -> None:
    """Take in a word of the loop, if it is one of the coach's."""
    said = step.observation if isinstance(step.observation, str) else ""
    if step.tool == POLICY_VIOLATION:
        wants = category_of(str(step.args.get("wants")))
        work.is_blocked = wants is not None
        if work.is_blocked:
            gained = work.gained()
            work.blocks = work.blocks + 1 if work.before == gained else 1
            work.before = gained
            work.is_excused = work.is_excused or work.tried is not None
            _ask(work, number, is_asked=wants == "change")
    elif step.tool == WARNING and said.startswith((LOST, STUCK, MISSING)):
        work.warned.append((said, work.taken))
        _ask(work, number, is_asked=said.endswith(QUESTION))
    elif step.tool == SELF_CORRECTION and work.tools and work.tools[-1].fails:
        work.rounds, work.corrects = work.rounds + 1, True


def _ask(work: Work, number: int, *, is_asked: bool) -> None:
    if is_asked and work.asked is None and not work.is_changed:
        work.asked = number


def _discovered(work: Work, done: Done) -> None:
    if done.step.ok and done.result.get("files"):
        work.found = done


def _searched(work: Work, done: Done) -> None:
    if done.step.ok:
        work.search = work.search or done
        work.found = done if done.result.get("matches") else work.found
    elif done.step.error == _NO_SEARCH:
        work.search = work.search or done


def _read(work: Work, done: Done) -> None:
    if done.step.ok:
        work.read.setdefault(done.path or "", done)


def _changed(work: Work, done: Done) -> None:
    patch = done.result.get("patch_id")
    if not done.step.ok:
        work.asked = None  # whoever tries a change has not said that none is needed
        return
    if patch is None:
        work.edits.append(done)
        _unverified(work)
        return
    work.proposed.append(done)
    if done.result.get("approved"):
        work.waiting[str(patch)] = done


def _applied(work: Work, done: Done) -> None:
    """A patch that could not be applied is no change: another has to take its place."""
    work.waiting.pop(str(done.step.args.get("patch_id")), None)
    if not done.step.ok:
        work.asked = None
        return
    work.applied.append(done)
    _unverified(work)


def _unverified(work: Work) -> None:
    work.verified = work.tested = work.tried = None
    work.is_excused = work.corrects = False


def _verified(work: Work, done: Done) -> None:
    if done.step.ok:
        work.tests = work.verified = done
        work.tested = done if "ok" in done.result else work.tested
    elif done.step.error in _CANNOT_RUN:
        work.tried = done


def _other(work: Work, done: Done) -> None:
    """What no gate asks for."""


_TAKES = {
    "discovery": _discovered, "search": _searched, "read": _read, "change": _changed, "apply": _applied,
    "verify": _verified, "other": _other, None: _other,
}  # fmt: skip
