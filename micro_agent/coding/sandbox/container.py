"""Programs in a container of podman or docker, of an image that the user has built (``Dockerfile.sandbox``).

Only the repository is mounted, at its own path; all else is the image's, read-only. There is no network and no
capability. The client of the engine runs below the launcher, which removes the container when the program has ended,
its time is over, or our own process is gone.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from micro_agent.coding.sandbox.clone import launched
from micro_agent.coding.sandbox.closed import Inside, is_laid, outside, policies
from micro_agent.coding.sandbox.contract import USUAL, Bounds, Kind, Profile, Ran, SandboxUnavailable, Stage
from micro_agent.coding.sandbox.holding import copied, held, new_folder
from micro_agent.coding.sandbox.noting import noted
from micro_agent.coding.sandbox.stages import beside_others, environment, folder_of, path_outside, supervised

IMAGE = "micro-agent-sandbox"
_ENGINES = ("podman", "docker")
_OF_ENGINE = range(125, 128)
"""What a client ends with if its engine failed; the program may have ended with it as well."""
_HAS_RUN = ("exited", "stopped", "stopping", "running", "dead", "removing")
_CLIENT = (100, 1024**3)
"""Processes and threads, and bytes of memory, of the client and of what watches the container."""


def image() -> str:
    """The image that containers are of (``MICRO_AGENT_SANDBOX_IMAGE``)."""
    return os.environ.get("MICRO_AGENT_SANDBOX_IMAGE") or IMAGE


def engine(root: Path) -> list[str]:
    """The command of the engine (``MICRO_AGENT_SANDBOX_ENGINE``), else the one of those known that is there.

    Raises:
        SandboxUnavailable: None is there.
    """
    wanted = shlex.split(os.environ.get("MICRO_AGENT_SANDBOX_ENGINE", ""))
    for name in wanted[:1] or _ENGINES:
        found = shutil.which(name, path=path_outside(root))
        if found:
            return [found, *wanted[1:]]
    raise SandboxUnavailable(f"there is no {' or '.join(wanted[:1] or _ENGINES)}: install it, or use another kind")


def has_image(root: Path) -> bool:
    """Whether the image is there."""
    try:
        command = [*engine(root), "image", "inspect", image()]
    except SandboxUnavailable:
        return False
    return not subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode


@dataclass(frozen=True, slots=True)
class Container:
    """A container for each run around one repository.

    Attributes:
        root: The repository, absolute and without links.
        state: The folder of its state, which is not mounted.
        masked: What else is closed, if it is in the repository.
    """

    root: Path
    state: Path
    masked: tuple[Path, ...] = ()
    kind: Kind = "container"
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
        command, folder, name = engine(self.root), folder_of(self.root, cwd), f"micro-agent-{uuid4().hex}"
        with held(self.state, self.root, protected=profile == "rw-repo"):
            covers = _covers(new_folder(self.state))
            source = copied(self.root, self.state) if profile == "try" else self.root
            options = [
                *_options(command[0], bounds),
                *self._mounts(profile, source, covers),
                "--name",
                name,
                "--workdir",
                folder,
            ]
            variables = environment(self.root, home="/tmp", added=env)
            if "PATH" not in (env or {}):
                del variables["PATH"]  # the image has its own
            for variable, value in variables.items():
                options += ["--env", f"{variable}={value}"]
            bash, *inner = supervised(pipeline, beside_others(bounds), bash="bash", stays=True)
            argv = [*command, "run", *(["--interactive"] if stdin else []), *options, "--entrypoint", bash]
            ended = "{{.State.Status}} {{.State.ExitCode}}"
            ending = [*command, "kill", "--signal", "KILL", name]
            after = [[*command, "inspect", "--format", ended, name], [*command, "rm", "--force", name]]
            client = {**os.environ, "PATH": path_outside(self.root)}
            whole = [*argv, image(), *inner]
            ran, said = launched(whole, "/", client, stdin, bounds, ending=ending, after=after, spare=_CLIENT)
        return _judged(ran, said)

    def _mounts(self, profile: Profile, source: Path, covers: tuple[Path, Path]) -> list[str]:
        file, folder = covers
        mounts = {self.root: source}  # one for each path
        secrets, gits = self.inside.found()
        if profile == "rw-repo":
            paths = [*(self.root / name for name in policies()), *gits]
            mounts |= {path: file if is_laid(path) else path for path in paths}
        closed = [*secrets, *(path for path in outside(self.masked) if self.root in path.parents)]
        mounts |= {path: folder if path.is_dir() else file for path in closed}
        options: list[str] = []
        for path, shown in mounts.items():
            options += _mount(shown, path, readonly=profile == "ro" or path != self.root)
        return options


def _covers(within: Path) -> tuple[Path, Path]:
    """A file and a folder that nobody can open."""
    file, folder = within / "file", within / "folder"
    file.touch(mode=0)
    folder.mkdir(mode=0)
    return file, folder


def _mount(source: Path, target: Path, *, readonly: bool) -> list[str]:
    if any(sign in str(path) for path in (source, target) for sign in ',"\n'):
        raise SandboxUnavailable(f"a container cannot mount {str(target)!r:.200}, which holds a comma or a quote")
    return ["--mount", f"type=bind,source={source},target={target}" + (",readonly" if readonly else "")]


def _options(command: str, bounds: Bounds) -> list[str]:
    options = ["--pull", "never", "--network", "none", "--read-only", "--cap-drop", "ALL"]
    options += [
        "--security-opt",
        "no-new-privileges",
        "--stop-timeout",
        "0",
        "--hostname",
        "sandbox",
        "--log-driver",
        "none",
    ]
    options += ["--tmpfs", f"/tmp:rw,exec,nosuid,nodev,size={bounds.disk},mode=1777"]
    options += ["--user", f"{os.getuid()}:{os.getgid()}", "--shm-size", str(bounds.disk)]
    options += ["--pids-limit", str(bounds.processes), "--memory", str(bounds.memory)]
    most = beside_others(bounds).processes
    options += ["--ulimit", "nofile=1024:1024", "--ulimit", f"nproc={most}:{most}"]
    if os.getuid() and Path(command).name.startswith("podman"):
        options += ["--userns", "keep-id"]  # the user is the same inside
    return options


def _judged(ran: Ran, said: list[str]) -> Ran:
    """What came of the program, once the engine was asked where its client does not tell."""
    if ran.exit not in _OF_ENGINE:
        return ran
    status, _, code = (said[0] if said else "").strip().rpartition(" ")
    if status in _HAS_RUN:
        return replace(ran, exit=int(code) if status == "exited" and code.isdecimal() else None)
    why = ran.stderr.decode(errors="replace").strip()
    raise SandboxUnavailable(f"a container of the image {image()} cannot be started: {why[-300:]}")
