"""What git says of a patch: a second opinion on what was worked out here, before anything is written."""

import os
import subprocess
from pathlib import Path

from micro_agent.coding.patches.faults import PatchError, misfit
from micro_agent.coding.sandbox import Bounds, Sandbox, Stage

_TIMEOUT_S = 30.0
_APPLY = ("apply", "--check", "--whitespace=nowarn", "--unidiff-zero")
_PATH = "/usr/local/bin:/usr/bin:/bin"


def check_with_git(root: Path, diff: bytes, sandbox: Sandbox | None) -> None:
    """Have ``git apply --check`` look at a diff.

    In the sandbox it may see the repository's own settings, which can run programs there. Without one it runs outside
    of any repository, with no settings at all.

    Raises:
        PatchError: git refuses it, or there is no git.
    """
    if sandbox is None:
        code, said = _outside(root, diff)
    else:
        argv = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *_APPLY)
        ran = sandbox.run([Stage(argv)], "ro", stdin=diff, bounds=Bounds(timeout_s=_TIMEOUT_S))
        code, said = ran.exit, ran.stderr
    if code != 0:
        raise _refusal(code, said)


def _outside(root: Path, diff: bytes) -> tuple[int | None, bytes]:
    real = os.path.realpath(root)
    folder = [f"--directory={real.lstrip('/')}"] if real != "/" else []
    environment = {
        "PATH": _PATH, "LC_ALL": "C", "HOME": "/", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": "/",
    }  # fmt: skip
    try:
        done = subprocess.run(
            ["git", *_APPLY, *folder], cwd="/", env=environment, input=diff, capture_output=True, check=False,
            timeout=_TIMEOUT_S,
        )  # fmt: skip
    except FileNotFoundError:
        raise PatchError("PATCH_APPLY_FAILED", "there is no git to check the patch with: install it") from None
    except subprocess.TimeoutExpired:
        return None, b""
    return done.returncode, done.stderr


def _refusal(code: int | None, said: bytes) -> PatchError:
    if code is None:
        return misfit(f"git did not say within {_TIMEOUT_S:g} s whether the patch applies")
    lines = said.decode(errors="replace").splitlines() or [f"it ended with {code}"]
    return misfit(f"git refuses the patch: {lines[0]:.300}")
