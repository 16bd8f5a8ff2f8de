"""Wall time of a program in each kind of sandbox, over that of the same by ``subprocess``: medians, interleaved.

The program is ``cat`` of one file, which stands for a read that is allowed. ``rw-repo`` and ``try`` of bubblewrap are
measured as well.
"""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from micro_agent.coding.sandbox import Kind, Profile, Sandbox, SandboxUnavailable, Stage, choose

ROUNDS = 30
MEASURED: tuple[tuple[Kind, Profile], ...] = (
    ("bwrap", "ro"), ("bwrap", "rw-repo"), ("bwrap", "try"), ("landlock", "ro"), ("clone", "ro"),
)  # fmt: skip


def seconds(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begun = perf_counter()
    call()
    return perf_counter() - begun


def main() -> None:
    """Print how much longer each takes, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder, "repository").resolve(), Path(folder, "state").resolve()
        root.mkdir()
        subprocess.run(["git", "init", "-q", root], check=True)
        (root / "file").write_text("text\n")
        calls: dict[str, Callable[[], object]] = {
            "subprocess": lambda: subprocess.run(["cat", "file"], cwd=root, check=True, capture_output=True)
        }
        for kind, profile in MEASURED:
            try:
                calls[f"{kind}, {profile}"] = reading(choose(kind, root, state=state), profile)
            except SandboxUnavailable as error:
                print(f"not here: {error.message}")
        taken = {name: list[float]() for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                taken[name].append(seconds(call))
    plain = median(taken["subprocess"])
    for name, times in taken.items():
        print(f"{name}: {1000 * median(times):.1f} ms, {1000 * (median(times) - plain):.1f} more than subprocess")


def reading(sandbox: Sandbox, profile: Profile) -> Callable[[], object]:
    """The same read in a sandbox."""
    return lambda: sandbox.run([Stage(("cat", "file"))], profile)


if __name__ == "__main__":
    main()
