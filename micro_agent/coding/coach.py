"""The coach of the coding agent: gates, prompts, hints, the state line, corrections and exemplars, by its settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

from micro_agent.coding import CHANGING, EditFormat, GateMode, PromptSize, StateSummary
from micro_agent.coding.coaching.blocking import blocking
from micro_agent.coding.coaching.correcting import correcting
from micro_agent.coding.coaching.state_line import state_line
from micro_agent.coding.coaching.warning import warning
from micro_agent.coding.gates import get_gate_status
from micro_agent.coding.prompts import prompt_for
from micro_agent.errors import ConfigurationError
from micro_agent.models.settings import Settings
from micro_agent.rules import Rule
from micro_agent.rules.coach import Coach
from micro_agent.run import Run
from micro_agent.tools import Tool

KIND = "coding"
"""Stands in ``Run.coach`` under ``kind``."""
_ALLOWED: dict[str, Any] = {"gates": GateMode, "state": StateSummary, "prompt": PromptSize, "edits": EditFormat}
_LEAST = {"max_no_progress": 1, "warning_interval": 1, "corrections": 0, "exemplars": 0}


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

    Raises:
        ConfigurationError: One of them is not allowed.
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

    def __post_init__(self) -> None:
        for name, allowed in _ALLOWED.items():
            if (value := getattr(self, name)) not in get_args(allowed):
                raise ConfigurationError(f"{name} is {value!r}; allowed: {', '.join(get_args(allowed))}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigurationError(f"{name} is {value!r}; allowed: a whole number from {least}")

    def record(self) -> dict[str, Any]:
        """As they stand in ``Run.coach``."""
        return {"kind": KIND, **asdict(self)}


def coding_coach(settings: CoachSettings, tools: Sequence[Tool] = ()) -> Coach:
    """The coach with these settings; ``tools`` are those that its prompt tells of, and nothing else depends on them."""
    return Coach(
        record=settings.record(),
        rules=_rules(settings),
        system=lambda run: prompt_for(settings.prompt, tools, settings.edits) if tools else None,
        state=_state(settings),
        status=lambda run: get_gate_status(run).to_dict(),
    )


def gates_in(environment: Settings) -> dict[str, Any]:
    """What the environment says of the gates, as `CoachSettings` has it: ``GATE_ENABLED``, ``GATE_MODE`` and the rest.

    Only what is set, so that the defaults are those of `CoachSettings`:
    ``CoachSettings(**gates_in(load_settings()))``.
    """
    found: dict[str, Any] = {
        "gates": environment.gate_mode and _MODES[environment.gate_mode],
        "max_no_progress": environment.gate_max_no_progress_steps,
        "warning_interval": environment.gate_warning_interval,
    }
    if environment.gate_enabled is False:
        found["gates"] = "off"
    return {name: value for name, value in found.items() if value is not None}


_MODES: dict[str, GateMode] = {"blocking": "block", "block": "block", "warning": "warn", "warn": "warn", "off": "off"}


def _rules(settings: CoachSettings) -> list[Rule]:
    green = settings.require_green
    rules = [blocking(green=green)] if settings.gates == "block" else []
    if settings.gates != "off":
        rules.append(
            warning(
                most=settings.max_no_progress,
                interval=settings.warning_interval,
                green=green,
                missing=settings.gates == "warn",
                changing=CHANGING[settings.edits],
            )
        )
    return rules + ([correcting(rounds=settings.corrections)] if settings.corrections else [])


def _state(settings: CoachSettings) -> Callable[[Run], str | None]:
    return (lambda run: None) if settings.state == "off" else state_line(settings.state)


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
    try:
        return CoachSettings(**given)
    except ConfigurationError as error:
        raise ConfigurationError(f"the run was coached in a way that this version does not know ({error})") from None


def coach_of(record: Mapping[str, Any]) -> Coach:
    """The coach of a run, made again from ``Run.coach``. Raises `ConfigurationError` as `settings_of` does."""
    return coding_coach(settings_of(record))
