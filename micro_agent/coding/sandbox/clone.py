"""Programs that nothing holds: for machines where nothing stronger works. What is asked of it is asked, not enforced.

A program has its own session, limits, environment and temporary folder, and what it starts is ended with it. ``try``
runs in a copy of the repository. It can read and write what the user can, and reach the network.
"""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from micro_agent.coding.sandbox import launcher
from micro_agent.coding.sandbox.contract import BY_SIGNAL, USUAL, Bounds, Kind, Profile, Ran, SandboxUnavailable, Stage
from micro_agent.coding.sandbox.holding import copied, held, new_folder
from micro_agent.coding.sandbox.noting import noted
from micro_agent.coding.sandbox.stages import beside_others, environment, folder_of, supervised
from micro_agent.coding.sandbox.watching import Started, watch


@dataclass(frozen=True, slots=True)
class Clone:
    """No sandbox around one repository.

    Attributes:
        root: The repository, absolute and without links.
        state: The folder of its state.
        because: Why no stronger kind was taken, for the warning; empty where it was asked for.
    """

    root: Path
    state: Path
    because: str = ""
    kind: Kind = "clone"
    enforces: bool = False

    @noted
    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds = USUAL,
    ) -> Ran:  # fmt: skip
        """See `Sandbox.run`."""
        folder_of(self.root, cwd)
        with held(self.state, self.root):
            home = new_folder(self.state)
            root = copied(self.root, self.state) if profile == "try" else self.root
            variables = environment(self.root, home=str(home), added=env)
            argv = supervised(pipeline, beside_others(bounds))
            return launched(argv, folder_of(root, cwd), variables, stdin, bounds)[0]


def launched(
    argv: Sequence[str], folder: str, variables: Mapping[str, str], stdin: bytes, bounds: Bounds, *,
    rules: Mapping[str, Any] | None = None, refused: bytes | None = None, ending: Sequence[str] = (),
    after: Sequence[Sequence[str]] = (), spare: tuple[int, int] = (1, 0),
) -> tuple[Ran, list[str]]:  # fmt: skip
    """Run a program by the launcher, under these rules of Landlock and this filter of system calls.

    Args:
        argv: The program.
        folder: Where it runs.
        variables: Its environment.
        stdin: What it reads.
        bounds: What it may use.
        rules: What Landlock allows; ``None`` for no Landlock.
        refused: The filter of system calls.
        ending: What ends it before its time, and
        after: what is run when it has ended, see `micro_agent.coding.sandbox.launcher`.
        spare: How many processes, and bytes of memory, the sandbox itself uses.

    Returns:
        What came of it, and what each of ``after`` printed.

    Raises:
        SandboxUnavailable: The launcher could not start it.
    """
    since = time.monotonic()
    order = {
        "parent": os.getpid(),
        "argv": argv,
        "env": dict(variables),
        "folder": folder,
        "rules": rules,
        "filter": None if refused is None else base64.b64encode(refused).decode(),
        "most": bounds.processes + spare[0],
        "memory": bounds.memory + spare[1],
        "ending": ending,
        "after": after,
    }
    with _started(order, stdin=bool(stdin)) as started:
        ran = watch(started, stdin, bounds, since=since)
    if not started.report and ran.exit is not None and ran.exit < BY_SIGNAL:
        said = ran.stderr.decode(errors="replace").strip()
        raise SandboxUnavailable(f"a program cannot be started: {said[-300:]}")
    return ran, json.loads(started.report or b"{}").get("after", [])


@contextmanager
def _started(order: dict[str, Any], *, stdin: bool) -> Generator[Started]:
    with ExitStack() as after:
        status, reporting = os.pipe()
        after.callback(os.close, reporting)
        ordering = os.memfd_create("order")
        after.callback(os.close, ordering)
        with open(ordering, "w", encoding="utf-8", closefd=False) as file:
            json.dump({**order, "report": reporting}, file)
        os.lseek(ordering, 0, os.SEEK_SET)
        process = subprocess.Popen(
            [sys.executable, "-I", launcher.__file__, str(ordering)],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=(ordering, reporting),
            start_new_session=True,
        )
    yield Started(process, process.terminate, status)
