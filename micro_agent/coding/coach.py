"""The coach of the coding agent: gates, prompts, hints, the state line, corrections and exemplars, by its settings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from micro_agent.coding import EditFormat, PromptSize
from micro_agent.errors import ConfigurationError
from micro_agent.rules.coach import Coach
from micro_agent.tools import Tool

KIND = "coding"
"""Stands in ``Run.coach`` under ``kind``."""
GateMode = Literal["block", "warn", "off"]
StateSummary = Literal["compact", "detailed", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoachSettings:
    """What helps the model, and how much.

    Attributes:
        gates: Whether a finish before its gates pass is refused, only warned about, or taken.
        max_no_progress: After so many discovery-only steps in a row the warning says what to search for.
        warning_interval: Steps between two warnings about what is missing.
        require_green: Whether verification means that the tests passed.
        state: The line behind each observation.
        hints: Whether an error says which call comes next (``recovery_suggestion``).
        corrections: Rounds of fixing tests that fail after a change; 0: no failures are told beyond the output.
        prompt: Which of the two system prompts.
        edits: How the model changes files: the tools for that differ.
        exemplars: So many similar successes of the past are shown at most.
    """

    gates: GateMode = "block"
    max_no_progress: int = 6
    warning_interval: int = 3
    require_green: bool = False
    state: StateSummary = "compact"
    hints: bool = True
    corrections: int = 3
    prompt: PromptSize = "minimal"
    edits: EditFormat = "edit"
    exemplars: int = 3

    def record(self) -> dict[str, Any]:
        """As they stand in ``Run.coach``."""
        return {"kind": KIND, **asdict(self)}


def coding_coach(settings: CoachSettings, tools: Sequence[Tool] = ()) -> Coach:
    """The coach with these settings; ``tools`` are those that its prompt tells of."""
    return Coach(record=settings.record())


def settings_of(record: Mapping[str, Any]) -> CoachSettings:
    """The settings that stand in ``Run.coach``.

    Raises:
        ConfigurationError: They are not those of this coach, or of a newer version.
    """
    given = {name: value for name, value in record.items() if name != "kind"}
    unknown = sorted(given.keys() - {field.name for field in fields(CoachSettings)})
    if record.get("kind") != KIND or unknown:
        told = f"kind {record.get('kind')!r}" if record.get("kind") != KIND else ", ".join(unknown)
        raise ConfigurationError(f"the run was coached in a way that this version does not know ({told})")
    return CoachSettings(**given)


def coach_of(record: Mapping[str, Any]) -> Coach:
    """The coach of a run, made again from ``Run.coach``. Raises `ConfigurationError` as `settings_of` does."""
    return coding_coach(settings_of(record))
