"""Programs in namespaces of their own, made by bubblewrap: the strongest kind, and the default one.

The root is read-only, ``/tmp`` and ``/run`` are empty, there is no network, no capability and no other process to be
seen. What is closed is covered by an empty file or folder. All ends with the first process of the process namespace,
which ends with bubblewrap, which ends with the thread that started it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from micro_agent.coding.sandbox.closed import Inside, is_laid, outside, policies
from micro_agent.coding.sandbox.contract import BY_SIGNAL, USUAL, Bounds, Kind, Profile, Ran, SandboxUnavailable, Stage
from micro_agent.coding.sandbox.holding import copied, folder_in, held
from micro_agent.coding.sandbox.launcher import children_of, usage_of
from micro_agent.coding.sandbox.noting import noted
from micro_agent.coding.sandbox.seccomp import program
from micro_agent.coding.sandbox.stages import environment, folder_of, path_outside, supervised
from micro_agent.coding.sandbox.watching import Started, watch

_IN_VIEW = """set -e
mount -t tmpfs -o "size=$1,mode=0700" tmpfs "$2"
cd "$2"
mkdir upper work
ln -s "$3" lower
mount -t overlay -o userxattr,lowerdir=lower,upperdir=upper,workdir=work overlay "$3"
shift 3
cd /
exec "$@"
"""
"""A view of the repository over itself: what is written goes into a file system in memory that nobody else sees."""
_EMPTY = ("/tmp", "/var/tmp", "/dev/shm")
_WATCHED = r"""
end() {
    read -r outer others <"/proc/$$/task/$$/children" || exit 1
    kill -STOP "$outer"
    read -r inner others <"/proc/$outer/task/$outer/children"
    kill -KILL "${inner:-$outer}"
    kill -CONT "$outer"
}
trap end TERM
ours=$1; shift
"$@" <&0 &
[ "$PPID" = "$ours" ] || end
wait "$!"; code=$?
while kill -0 "$!"; do wait "$!"; code=$?; done 2>/dev/null
exit "$code"
"""
"""Bubblewrap ends with its parent; where that happens before its child has its users, the child waits for ever. So its
parent is this shell, which is told of our end (PR_SET_PDEATHSIG) and then ends the child before bubblewrap."""
_TRIES = 3
"""So often a sandbox is set up: a mount of somebody else's that goes away meanwhile makes it fail, and nothing ran."""
_OWN = 4
"""Processes of the sandbox itself."""
_AROUND = 2
"""Those outside of the namespace: the shell and bubblewrap."""


@dataclass(frozen=True, slots=True)
class Bwrap:
    """Bubblewrap around one repository.

    Attributes:
        root: The repository, absolute and without links.
        state: The folder of its state, which is closed.
        masked: What else is closed.
        overlay: Whether ``try`` is a view by overlayfs, made by the system in no time; else it is a copy.
    """

    root: Path
    state: Path
    masked: tuple[Path, ...] = ()
    overlay: bool = True
    kind: Kind = "bwrap"
    enforces: bool = True
    inside: Inside = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inside", Inside(self.root))

    @noted
    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds = USUAL,
    ) -> Ran:  # fmt: skip
        """See `Sandbox.run`."""
        tries = 0
        while True:
            tries += 1
            ran, has_run = self._tried(pipeline, profile, cwd, env, stdin, bounds)
            if has_run:
                return ran
            if tries == _TRIES:
                said = ran.stderr.decode(errors="replace").strip().replace(str(self.root), ".")
                raise SandboxUnavailable(f"bwrap cannot set up its sandbox: {said[:300]}")

    def _tried(
        self, pipeline: Sequence[Stage], profile: Profile, cwd: str, env: Mapping[str, str] | None, stdin: bytes,
        bounds: Bounds,
    ) -> tuple[Ran, bool]:  # fmt: skip
        """What came of it, and whether anything was run: else bubblewrap could not set its sandbox up."""
        folder, since = folder_of(self.root, cwd), time.monotonic()
        variables = environment(self.root, home="/tmp", added=env)
        with ExitStack() as after:
            after.enter_context(held(self.state, self.root, protected=profile == "rw-repo"))
            source = self.root
            before: list[str] = []
            if profile == "try" and self.overlay:
                before = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", _IN_VIEW, "sh"]
                before += [str(bounds.disk), str(folder_in(self.state) / "view"), str(self.root)]
                (folder_in(self.state) / "view").mkdir(exist_ok=True)
            elif profile == "try":
                source = copied(self.root, self.state)
            options = [*self._mounts(profile, source, bounds), "--chdir", folder, "--clearenv"]
            for name, value in variables.items():
                options += ["--setenv", name, value]
            outer = [*before, "bwrap", *options]
            started = after.enter_context(
                _started(outer, lambda pipes: supervised(pipeline, bounds, alive=pipes), self.root, stdin=bool(stdin))
            )
            ran = watch(started, stdin, bounds, since=since)
        return ran, b'"exit-code"' in started.report or ran.exit is None or ran.exit >= BY_SIGNAL

    def _mounts(self, profile: Profile, source: Path, bounds: Bounds) -> list[str]:
        """The options for what is seen where; later ones lie over earlier ones."""
        root = str(self.root)
        options = ["--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        options += ["--uid", str(os.getuid()), "--gid", str(os.getgid()), "--hostname", "sandbox"]
        options += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
        for folder in filter(os.path.isdir, _EMPTY):
            options += ["--perms", "1777", "--size", str(bounds.disk), "--tmpfs", folder]
        options += ["--remount-ro", "/dev", "--tmpfs", "/run"]
        around: list[str] = []
        within: list[str] = []
        inside, emptied = f"{root}/", tuple(f"{folder}/" for folder in (*_EMPTY, "/run"))
        for path in map(str, outside([self.state, *self.masked])):
            if inside.startswith(f"{path}/"):
                around.append(path)
            elif path.startswith(inside) or not path.startswith(emptied):
                within.append(path)
        for path in around:
            options += ["--tmpfs", path]
        options += ["--bind" if profile != "ro" else "--ro-bind", str(source), root]
        secrets, gits = self.inside.found()
        if profile == "rw-repo":
            for path in [*(self.root / name for name in policies()), *gits]:
                options += ["--ro-bind", "/dev/null" if is_laid(path) else str(path), str(path)]
        for path in [*within, *map(str, secrets)]:
            options += _cover(path)
        for path in ("/run", *around):
            options += ["--remount-ro", path]
        return options


def _cover(path: str) -> list[str]:
    if os.path.isdir(path):
        return ["--perms", "0000", "--tmpfs", path, "--remount-ro", path]
    return ["--ro-bind", "/dev/null", path]


@contextmanager
def _started(
    outer: list[str], inner: Callable[[str], list[str]], root: Path, *, stdin: bool
) -> Generator[Started]:  # fmt: skip
    """Bubblewrap with this program in it, for `watch`."""
    with ExitStack() as closing, ExitStack() as after:
        status, reporting = os.pipe()
        after.callback(os.close, reporting)
        alive, ours = os.pipe()  # our end is closed with us, however we end
        closing.callback(os.close, ours)
        after.callback(os.close, alive)
        filtering = os.memfd_create("seccomp")
        after.callback(os.close, filtering)
        os.write(filtering, program(internet=True))
        os.lseek(filtering, 0, os.SEEK_SET)
        argv = ["setpriv", "--pdeathsig", "TERM", "--", "/bin/bash", "--noprofile", "--norc", "-p", "-c", _WATCHED]
        argv += ["watching", str(os.getpid()), *outer]
        argv += ["--seccomp", str(filtering), "--json-status-fd", str(reporting), "--"]
        argv += inner(f"{alive} {status}")  # it reports into an open pipe even without us
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd="/",
                env={"PATH": path_outside(root)},
                pass_fds=(filtering, reporting, alive, status),
                start_new_session=True,
            )
        except OSError as error:
            os.close(status)
            raise SandboxUnavailable(f"bwrap cannot be started: {error}") from None
        after.close()
        yield Started(process, lambda: _end(process.pid), status, lambda most: usage_of(process.pid, most + _OWN))


def _end(pid: int) -> None:
    """End the first process of the namespace, with which all others end; bubblewrap and the shell wait for it.

    Each is halted meanwhile, so that it does not start one that we have not seen; without any it is ended itself.
    """
    halted: list[int] = []
    ahead = [pid]
    with suppress(ProcessLookupError):
        while ahead and len(halted) < _AROUND:
            os.kill(ahead[0], signal.SIGSTOP)
            halted.append(ahead[0])
            ahead = children_of(ahead[0])
        for last in ahead or halted[-1:]:
            os.kill(last, signal.SIGKILL)
    for waiting in halted:
        with suppress(ProcessLookupError):
            os.kill(waiting, signal.SIGCONT)
