"""A sandbox that encloses nothing, for tests of what is run: plain processes in the repository."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from micro_agent.coding.sandbox import Bounds, Kind, Profile, Ran, Stage


@dataclass(frozen=True, slots=True)
class Plain:
    """Runs pipelines as they are, and keeps what it was asked for."""

    root: Path
    enforces: bool = True
    kind: Kind = "clone"
    asked: list[tuple[tuple[Stage, ...], Profile, Bounds, dict[str, str]]] = field(default_factory=list)

    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds = Bounds(),
    ) -> Ran:  # fmt: skip
        """See `Sandbox.run`."""
        self.asked.append((tuple(pipeline), profile, bounds, dict(env or {})))
        started = time.monotonic()
        running: list[subprocess.Popen[bytes]] = []
        raise NotImplementedError(running, started, cwd, stdin)
