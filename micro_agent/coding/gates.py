"""The gates of a run of the coding agent: whether the work is understood, changed, verified and ready, and by what."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from micro_agent.coding import Category, category_of
from micro_agent.coding.coaching.work import Done, Work, known_before, work_of
from micro_agent.run import Run

Gate = Literal["understanding", "change", "verification", "readiness"]
GATES: tuple[Gate, ...] = ("understanding", "change", "verification", "readiness")
_MOST_SHOWN, _MOST_ANSWER = 20, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus:
    """How a run stands.

    Attributes:
        understanding: Something was read, and searched or patched.
        change: A patch was proposed that nobody rejected, or a file edited; or the model, asked after it had searched
            and read, answered that there is no need.
        verification: A verify tool ran after the last change; it is not asked for where no change was needed.
        readiness: The three before, and no approved patch waits to be applied.
        no_progress_yet: Nothing was searched, read, proposed, changed or verified.
        files_read: So many different files were read.
        search_used: Whether a search went well.
        patches_proposed: So many patches were proposed, rejected ones included. An edit of a file is none.
        verify_tool_used: Whether a verify tool ran at any time.
        steps_taken: Steps as ``max_steps`` counts them.
        evidence: For each gate the steps that satisfy it (``step``: its number from 1, ``tool``, and what it was
            about), and under ``missing`` why each of the others does not pass.
    """

    understanding: bool
    change: bool
    verification: bool
    readiness: bool
    no_progress_yet: bool
    files_read: int
    search_used: bool
    patches_proposed: int
    verify_tool_used: bool
    steps_taken: int
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def all_passed(self) -> bool:
        """Whether every gate passes."""
        return self.understanding and self.change and self.verification and self.readiness

    def to_dict(self) -> dict[str, Any]:
        """As it stands in ``Run.gates``."""
        return {**asdict(self), "all_passed": self.all_passed()}


def gates_line(gates: Mapping[str, Any]) -> str | None:
    """``Run.gates`` in one line: ``✓ understanding (steps 1, 2)  ✗ change (missing: a change)``.

    ``None`` for what some other coach has put there.
    """
    evidence = gates.get("evidence")
    if not isinstance(evidence, dict) or not all(isinstance(gates.get(gate), bool) for gate in GATES):
        return None
    known = cast("dict[str, Any]", evidence)
    missing = cast("dict[str, Any]", known.get("missing") or {})
    return "  ".join(_in_words(gate, known.get(gate), missing.get(gate), passes=gates[gate]) for gate in GATES)


def _in_words(gate: Gate, steps: Any, missing: Any, *, passes: bool) -> str:
    if not passes:
        return f"✗ {gate} (missing: {missing})"
    shown = cast("list[Any]", steps if isinstance(steps, list) else [])
    numbers = [str(step["step"]) for step in shown if "step" in step and "run" not in step]
    return f"✓ {gate}" + (f" (step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else "")


@dataclass(frozen=True, slots=True)
class Lack:
    """What a gate lacks: in a few words, and the kind of work that comes next."""

    gate: Gate
    what: str
    wants: Category


def get_gate_status(run: Run) -> GateStatus:
    """How the gates of a run stand, with evidence. Whether tests have to pass is read from ``run.coach``.

    A run that is under way stands as its steps say; one that was loaded knows nothing of the turns before it.
    """
    green = bool((run.coach or {}).get("require_green"))
    work, answers = work_of(run), run.status == "completed"
    lacking = lacks(run, work, green=green, answers=answers)
    missing: dict[str, str] = {}
    for lack in lacking:
        missing.setdefault(lack.gate, lack.what)
    if "change" in missing:
        missing.setdefault("verification", "a change to verify")
    proposes = _waits_for_a_person(run)
    if proposes and "change" in missing:
        del missing["change"]
        missing["readiness"] = "a person's decision on the proposed patch"
    if missing:
        missing.setdefault("readiness", f"the gates before it: {', '.join(missing)}")
    return GateStatus(
        **{gate: gate not in missing for gate in GATES},
        no_progress_yet=work.no_progress and not proposes,
        files_read=len(work.read),
        search_used=work.search is not None and work.search.step.ok,
        patches_proposed=len(work.proposed) + proposes,
        verify_tool_used=work.tests is not None,
        steps_taken=work.taken,
        evidence={**_evidence(run, work, missing), "missing": missing},
    )


def lacks(run: Run, work: Work, *, green: bool = False, answers: bool = False) -> list[Lack]:
    """What the gates lack, in the order in which it is to be done.

    Args:
        run: The run.
        work: What its steps have come to.
        green: Whether the tests have to pass.
        answers: Whether the model has given its answer, or gives it now.
    """
    searched, read = _searched(run, work), _read(run, work)
    found: list[Lack] = []
    if not searched and not work.proposed and not work.edits:
        found.append(Lack("understanding", "a search of the code", "search"))
    if not read:
        found.append(Lack("understanding", "reading a file", "read"))
    if not work.is_changed:
        explained = answers and work.asked is not None and searched and read
        return found if explained else [*found, Lack("change", "a change", "change")]
    if work.waiting:
        found.append(Lack("readiness", "applying the approved patch", "apply"))
    verification = _verification(work, green=green)
    return [*found, verification] if verification else found


def _verification(work: Work, *, green: bool) -> Lack | None:
    tested = work.tested
    if work.last_change is None:
        return Lack("verification", "applying a change", "apply")
    if green and work.verified is not None:
        if tested is None:
            return Lack("verification", "a test run after the last change", "verify")
        return None if tested.is_green else Lack("verification", "tests that pass", "change")
    if work.verified is None:
        why = f" ({work.tried.step.error})" if work.tried else ""
        return Lack("verification", f"a test run after the last change{why}", "verify")
    return None


def _searched(run: Run, work: Work) -> bool:
    return work.search is not None or next(known_before(run, "search"), None) is not None


def _read(run: Run, work: Work) -> bool:
    return bool(work.read) or next(known_before(run, "read"), None) is not None


def _waits_for_a_person(run: Run) -> bool:
    """Whether the run has paused for a decision on a change."""
    return run.confirmation is not None and category_of(str(run.confirmation.get("tool"))) == "change"


def _evidence(run: Run, work: Work, missing: Mapping[str, str]) -> dict[str, Any]:
    """The steps that satisfy each gate; of one that does not pass, those that were there."""
    understood = [*filter(None, [work.search]), *list(work.read.values())[:_MOST_SHOWN]]
    shown: dict[str, Any] = {"understanding": [_shown(done) for done in understood]}
    own: dict[Category, object] = {"search": work.search, "read": work.read}
    for category, known in own.items():
        if not known and (before := next(known_before(run, category), None)):
            shown["understanding"].append({"run": before[0].id, **_shown(before[1])})
    changes = sorted([*work.waiting.values(), *work.applied, *work.edits], key=lambda done: done.number)
    shown["change"] = [_shown(done) for done in changes[-_MOST_SHOWN:]]
    shown["verification"] = [_shown(work.verified)] if work.verified else []
    if not work.is_changed and "change" not in missing and work.asked is not None:
        shown["change"] = [{"step": work.asked, "asked": "whether a change is needed",
                            "answer": (run.answer or "")[:_MOST_ANSWER]}]  # fmt: skip
        shown["verification"] = [{"note": "not asked for: no change was made"}]
    shown["readiness"] = [{"waits": patch, **_shown(done)} for patch, done in work.waiting.items()]
    return shown


def _shown(done: Done) -> dict[str, Any]:
    """One step as evidence."""
    step, result = done.step, done.result
    shown: dict[str, Any] = {"step": done.number, "tool": step.tool}
    if done.category == "search":
        shown |= {"pattern": step.args.get("pattern"), **({} if step.ok else {"error": step.error})}
    elif done.category == "verify":
        shown |= {name: result[name] for name in ("cmd", "exit", "ok", "passed", "failed") if name in result}
    elif done.category in ("change", "apply"):
        shown |= {name: result[name] for name in ("patch_id", "files", "files_changed", "approved") if name in result}
    if done.category in ("read", "change") and "files" not in shown:
        shown["path"] = done.path
    return shown
