"""How far a plan has got: saved after every task and before, so that a process that was killed loses nothing."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from micro_agent import __version__
from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.files.jsonl import open_file, parse, storage_error
from micro_agent.files.masking import mask_of
from micro_agent.files.outside import refuse_inside
from micro_agent.plans.keeping import held, put
from micro_agent.plans.plan import Plan
from micro_agent.run import utc_now

SCHEMA_VERSION = 1
TaskStatus = Literal[
    "pending", "running", "paused", "completed", "needs_fix", "failed", "stopped", "blocked"
]  # fmt: skip
PlanStatus = Literal["completed", "failed", "stopped", "paused", "running"]
_PARTS = ("task_status", "results", "environment", "metadata")


@dataclass(slots=True)
class PlanState:
    """The state of a plan.

    Attributes:
        task_status: How each task stands, the corrections among them, by id.
        results: What came of each task that has begun: ``run_id``, and when it has ended ``answer``, ``files`` that it
            changed, ``reason``, ``error`` (the message), ``failing``.
        environment: Where it runs: ``repository``, ``provider``, ``model``, versions.
        metadata: ``digest`` of the plan, ``goal``, ``plan`` (its file), ``fixes`` (the corrections), ``events``,
            ``revision``, ``created``, ``updated``.
    """

    task_status: dict[str, TaskStatus] = field(default_factory=dict[str, TaskStatus])
    results: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, plan: Plan, repositories: Sequence[Path] = ()) -> "PlanState":
        """The state of a plan of which nothing has begun."""
        return cls(
            {task.id: "pending" for task in plan.tasks}, {},
            {
                "repository": str(repositories[0]) if repositories else None, "provider": None, "model": None,
                "micro_agent": __version__, "python": platform.python_version(),
            },
            {
                "schema_version": SCHEMA_VERSION, "digest": plan.digest, "goal": plan.goal,
                "plan": str(plan.source) if plan.source else None,
                "fixes": [], "events": [], "revision": 0, "created": utc_now(), "updated": None,
            },
        )  # fmt: skip

    @property
    def fixes(self) -> list[dict[str, Any]]:
        """The corrections that were put in: ``id``, ``fixes`` (the task), ``after``, ``task``, ``verify``."""
        return self.metadata["fixes"]

    @property
    def events(self) -> list[dict[str, Any]]:
        """What has happened: ``task_complete`` and ``self_correction_triggered``."""
        return self.metadata["events"]

    @property
    def status(self) -> PlanStatus:
        """How the whole plan stands; a task that needed a correction is as good as the last one of them."""
        found = set(self.task_status.values())
        if "paused" in found:
            return "paused"
        if found & {"pending", "running"}:
            return "running"
        return "failed" if "failed" in found else "stopped" if "stopped" in found else "completed"

    def save(self, path: str | Path) -> None:
        """Write it, for this user alone, secrets masked, in one step.

        Raises:
            RunBusy: Another process works on this plan.
            StorageError: It cannot be written, or what is there is newer than this one.
            ConfigurationError: The file would be inside the repository.
        """
        if self.environment.get("repository"):
            refuse_inside(Path(self.environment["repository"]), Path(path), "the state of the plan (--state)")
        with held(Path(path)):
            self.save_held(Path(path))

    def save_held(self, path: Path) -> None:
        """`save`, for who holds the file."""
        there = _revision(path)
        if there != self.metadata["revision"]:
            told = f"the state {path} is at revision {there}, this one was read at {self.metadata['revision']}"
            raise StorageError(f"{told}: another process has moved the plan on; load the state again")
        metadata = {**self.metadata, "revision": there + 1, "updated": utc_now()}
        put(path, mask_of().encode({**self.record(), "metadata": metadata}))
        self.metadata = metadata

    def record(self) -> dict[str, Any]:
        """It as JSON."""
        return {name: getattr(self, name) for name in _PARTS}

    @classmethod
    def load(cls, path: str | Path) -> "PlanState":
        """Read what `save` wrote. Raises `StorageError`."""
        file = Path(path)
        try:
            return cls(**_checked(_read(file)))
        except FileNotFoundError as error:
            raise storage_error("read the state of the plan", file, error) from error
        except ValueError as error:
            told = "move it away to begin the plan anew, or name another file"
            raise StorageError(f"{file} is no state of a plan ({error}): {told}") from error

    def require(self, plan: Plan, path: Path) -> None:
        """Refuse the state of another plan. Raises `ConfigurationError`."""
        if self.metadata["digest"] != plan.digest:
            told = f"the state {path} is of another plan, or the plan has been changed since"
            raise ConfigurationError(f"{told}: put the plan back, name another --state, or move that file away")


def _read(path: Path) -> dict[str, Any]:
    try:
        with open(open_file(path), "rb") as file:
            return parse(file.read())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise storage_error("read the state of the plan", path, error) from error


def _revision(path: Path) -> int:
    """That of the state in a file; 0 where there is none."""
    try:
        return int(_read(path)["metadata"]["revision"])
    except FileNotFoundError:
        return 0
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is there, and no state of a plan: name another file") from error


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a state. Raises `ValueError` with what is wrong."""
    for name in _PARTS:
        if not isinstance(data.get(name), dict):
            raise ValueError(f"it has no `{name}`")
    metadata = cast("dict[str, Any]", data["metadata"])
    if (version := metadata.get("schema_version")) != SCHEMA_VERSION:
        raise ValueError(f"its schema version is {json.dumps(version)}, {SCHEMA_VERSION} is known")
    kinds = {"digest": str, "revision": int, "fixes": list, "events": list}
    if wrong := [name for name, kind in kinds.items() if not isinstance(metadata.get(name), kind)]:
        raise ValueError(f"`{wrong[0]}` in its metadata is damaged")
    statuses = cast("dict[str, Any]", data["task_status"])
    if odd := [status for status in statuses.values() if status not in get_args(TaskStatus)]:
        raise ValueError(f"{odd[0]!r} is no status of a task")
    return {name: data[name] for name in _PARTS}
