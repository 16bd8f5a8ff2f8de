"""A sandbox that holds nothing: programs run as they are, with few variables."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from micro_agent.coding.sandbox import Bounds, Kind, Profile, Ran, Stage

_BOUNDS = Bounds()


class PlainSandbox:
    """Runs single programs in a repository.

    Attributes:
        path: The folders with programs.
        ran: The argv of each that was run.
    """

    def __init__(self, root: Path, path: str = "/usr/bin:/bin") -> None:
        self.root, self.path = root, path
        self.ran: list[tuple[str, ...]] = []

    @property
    def kind(self) -> Kind:
        return "clone"

    @property
    def enforces(self) -> bool:
        return False

    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds = _BOUNDS,
    ) -> Ran:  # fmt: skip
        (stage,) = pipeline
        self.ran.append(stage.argv)
        began = time.monotonic()
        try:
            done = subprocess.run(
                stage.argv, cwd=self.root / cwd, env={"PATH": self.path, **(env or {})}, input=stdin,
                capture_output=True, timeout=bounds.timeout_s, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            return Ran(127, b"", b"no such program", 0, 15, False, 0.0)
        except subprocess.TimeoutExpired:
            return Ran(None, b"", b"", 0, 0, True, bounds.timeout_s)
        half = bounds.output // 2
        kept = done.stdout if len(done.stdout) <= bounds.output else done.stdout[:half] + done.stdout[-half:]
        return Ran(
            done.returncode, kept, done.stderr, len(done.stdout), len(done.stderr), False, time.monotonic() - began
        )
