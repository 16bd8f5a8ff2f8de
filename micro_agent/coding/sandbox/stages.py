"""What runs inside of every kind of sandbox: a fixed script that sets limits, and starts the programs of a pipeline.

The programs and their arguments are arguments of the script and never part of its text.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from micro_agent.coding.sandbox.contract import Bounds, Stage

_SCRIPT = r"""
exec 3>&2 2>/dev/null
alive=$1; shift
if [ "$alive" ]; then read -t 0 -u "${alive%% *}" && exit 1; fi
for pipe in $alive; do exec {pipe}<&-; done
for limit in "${@:2:$1}"; do ulimit "${limit%%=*}" "${limit#*=}"; done
shift $(($1 + 1))
one() {
    local errors=$1; shift
    case $errors in
        stdout) exec 2>&1 ;;
        apart) exec 2>&3 ;;
    esac
    exec 3>&-
    type -P -- "$1" >/dev/null || { printf '%s: command not found\n' "$1" >&2; exit 127; }
    exec -- "$@"
}
all() {
    local count=$1 errors=$2; shift 2
    if (($# == count)); then one "$errors" "$@"; else one "$errors" "${@:1:count}" | all "${@:count+1}"; fi
}
set -o pipefail
"""
_INSTEAD, _WITHIN = 'all "$@"\n', '(all "$@"); exit $?\n'
"""The first argument is a pipe that ends with our process: what was to end the sandbox with it may have come too late.
The shell's own errors, such as "Killed", go nowhere: the exit status says it. A limit that the system has set lower
already cannot be raised, and need not be."""

_OPEN_FILES = 1024
_HARMLESS = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def supervised(
    pipeline: Sequence[Stage], bounds: Bounds, *, bash: str = "/bin/bash", stays: bool = False, alive: str = ""
) -> list[str]:
    """The argv that sets the limits and runs a pipeline, with its exit status as of ``pipefail``.

    A program alone takes the place of the shell, unless it ``stays``: the first process of a container gets no signals.
    It starts nothing if the pipe whose descriptor comes first in ``alive`` has ended; it closes all that are there.
    """
    limits = {
        "-c": 0,
        "-d": bounds.memory // 1024,
        "-f": bounds.file_size // 1024,
        "-n": _OPEN_FILES,
        "-t": math.ceil(bounds.timeout_s) * (os.cpu_count() or 1) + 10,
        "-u": bounds.processes,
    }
    script = _SCRIPT + (_WITHIN if stays else _INSTEAD)
    argv = [bash, "--noprofile", "--norc", "-p", "-c", script, "sandbox", alive, str(len(limits))]
    argv += [f"{option}={value}" for option, value in limits.items()]
    for stage in pipeline:
        argv += [str(len(stage.argv)), stage.stderr, *stage.argv]
    return argv


def beside_others(bounds: Bounds) -> Bounds:
    """The same where the system counts all processes of a user together, as it does outside of a user namespace.

    The fourth field of ``/proc/loadavg`` has the processes and threads of all users; whoever watches looks closer.
    """
    with open("/proc/loadavg", encoding="ascii") as file:
        others = int(file.read().split()[3].partition("/")[2])
    return replace(bounds, processes=bounds.processes + others)


def environment(root: Path, *, home: str, added: Mapping[str, str] | None) -> dict[str, str]:
    """The variables of a program: few, none of which can hold a key; and those that the caller adds."""
    kept = {name: os.environ[name] for name in _HARMLESS if name in os.environ}
    usual = {"PATH": path_outside(root), "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TERM": "dumb"}
    return {**usual, **kept, **(added or {})}


def path_outside(root: Path) -> str:
    """The user's ``PATH`` without its folders that are in the repository, and the system's."""
    inside = f"{root}/"
    folders = [folder for folder in os.environ.get("PATH", "").split(":") if folder.startswith("/")]
    folders = [folder for folder in folders if not f"{os.path.realpath(folder)}/".startswith(inside)]
    return ":".join(dict.fromkeys([*folders, *_SYSTEM_PATH.split(":")]))


def folder_of(root: Path, cwd: str) -> str:
    """Where a pipeline runs.

    Raises:
        ValueError: It leads out of the repository, or is none of its folders.
    """
    if os.path.isabs(cwd) or ".." in cwd.split("/"):
        raise ValueError(f"{cwd!r:.200} leads out of the repository: name a folder in it")
    folder = os.path.normpath(root / cwd)
    if not os.path.isdir(folder):
        raise ValueError(f"{cwd!r:.200} is no folder of the repository")
    return folder
