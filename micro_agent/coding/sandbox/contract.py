"""Where commands of the model's run: what holds them, what they may touch, how long and how large they may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from micro_agent.tools.error import ToolError

Kind = Literal["bwrap", "container", "landlock", "clone"]
Profile = Literal["ro", "rw-repo", "try"]
"""``ro`` writes nowhere but in a temporary folder; ``rw-repo`` also in the repository, but for what decides something
(`.git` and its like); ``try`` in a copy-on-write view of the repository, which is thrown away."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a program may use. Sizes are in bytes.

    Attributes:
        timeout_s: Seconds until everything that it started is killed.
        memory: What each process may have of its own, and all of them together: whoever goes over it is refused more,
            and all are killed where the sum goes over it.
        processes: Processes and threads at once: refused more by the system where it can, killed where it cannot.
        file_size: Size of a file that it writes.
        disk: What it may write into each of its temporary folders, and into a view that is thrown away.
        output: Bytes of each of its outputs that are kept: half of them from the beginning, half from the end. The rest
            is read and dropped.
    """

    timeout_s: float = 60.0
    memory: int = 4 * 1024**3
    processes: int = 256
    file_size: int = 256 * 1024**2
    disk: int = 512 * 1024**2
    output: int = 200_000


BY_SIGNAL = 128
"""An exit status from here on says that a signal ended a program."""
USUAL = Bounds()
"""What a program may use where nothing is said."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program.

    Attributes:
        exit: Its exit status, ``128 + n`` where signal ``n`` ended it; ``None`` where it was killed for its time, or
            where its end is not known.
        stdout: What is kept of its output, in the order in which it came.
        stderr: The same of its errors.
        stdout_bytes: How many bytes it wrote in all.
        stderr_bytes: The same of its errors.
        timed_out: Whether it was killed for its time.
        duration_s: Seconds from its start to its end.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    timed_out: bool
    duration_s: float


@dataclass(frozen=True, slots=True)
class Stage:
    """One program of a pipeline: its argv, and where its errors go: kept apart, along with its output, or nowhere."""

    argv: tuple[str, ...]
    stderr: Literal["apart", "stdout", "null"] = "apart"


class SandboxUnavailable(ToolError):
    """A sandbox cannot be set up, or does not hold what it promises; the message says which and what failed."""

    def __init__(self, message: str) -> None:
        super().__init__("SANDBOX_UNAVAILABLE", message)


class Sandbox(Protocol):
    """One kind of sandbox around one repository."""

    @property
    def kind(self) -> Kind:
        """Which it is."""
        ...

    @property
    def enforces(self) -> bool:
        """Whether the system holds a program to its profile; ``clone`` does not."""
        ...

    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds = USUAL,
    ) -> Ran:  # fmt: skip
        """Run the programs of a pipeline at once, each one's output going into the next, and wait for all of them.

        Args:
            pipeline: One program or more, without a shell. The exit status is that of the last one that failed, 0 if
                none did (``pipefail``).
            profile: What they may touch.
            cwd: Where they run, from the repository's root.
            env: Variables added to those of the sandbox, which has few of its own.
            stdin: What the first one reads.
            bounds: What they may use, together where the system can add it up, else each.

        Raises:
            SandboxUnavailable: The sandbox cannot be set up; nothing was run.
            ValueError: ``cwd`` leads out of the repository.
        """
        ...
