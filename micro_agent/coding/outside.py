"""Programs of the user's that run outside of the sandbox, for what needs the network and the user's credentials.

They are found outside of the repository, and are given no variable but those that are listed here.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

_VARIABLES = (
    "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_HOST", "GH_CONFIG_DIR",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
)  # fmt: skip
_NOBODY_IS_ASKED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "NO_COLOR": "1",
}
_MOST = 1_000_000
"""Bytes of each output that are read."""
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the user's: its file, and the variables that it runs with."""

    path: str
    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a program: its exit status, ``None`` where it was killed for its time, and what it printed."""

    exit: int | None
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """All that it printed."""
        return f"{self.stdout}{self.stderr}"


def find(name: str, root: Path) -> Program | None:
    """The program of this name on the user's PATH; neither its folder nor its file may be in the repository."""
    folders = os.environ.get("PATH", _SYSTEM_PATH).split(":")
    path = ":".join(folder for folder in folders if folder.startswith("/") and not _is_within(folder, root))
    found = shutil.which(name, path=path or _SYSTEM_PATH)
    if found is None or _is_within(found, root):
        return None
    # A home in the repository is one that a model can write settings into.
    env = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    env = {name: value for name, value in env.items() if not (value.startswith("/") and _is_within(value, root))}
    return Program(found, {**env, "PATH": path or _SYSTEM_PATH, **_NOBODY_IS_ASKED})


def _is_within(path: str, root: Path) -> bool:
    real = Path(os.path.realpath(path))
    return real == root or root in real.parents


def run(program: Program, *args: str, cwd: Path, timeout_s: float, env: Mapping[str, str] | None = None) -> Done:
    """Run it without a terminal or input, and kill all that it started when its time is over.

    Its output goes into files: what stays behind in the background, as a connection that ssh keeps open does, would
    hold a pipe open.
    """
    with TemporaryFile() as stdout, TemporaryFile() as stderr:
        process = subprocess.Popen(
            [program.path, *args],
            cwd=cwd,
            env={**program.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        exit_status = None
        try:
            with suppress(subprocess.TimeoutExpired):
                exit_status = process.wait(timeout_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Done(exit_status, _beginning(stdout), _beginning(stderr))


def _beginning(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST).decode(errors="replace")
