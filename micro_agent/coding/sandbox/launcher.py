"""Started as a program of its own: starts another one, lets nothing that it started outlive it, and says how it ended.

It is the reaper of all that descends from the program, whatever session that is in, and ends them when the program or
its own parent has ended, or on SIGTERM. It imports nothing of the package. The order is JSON in the file whose
descriptor is the only argument:

- ``parent``: the process that started it,
- ``argv``, ``env``, ``folder``: the program,
- ``filter``: the filter of system calls in base64, or ``null``,
- ``rules``: what Landlock allows, ``{"handled": [files, network, scope], "allowed": [[access, path], …]}``, or
  ``null``,
- ``most``: how many processes and threads there may be, ``memory`` the bytes of their memory,
- ``report``: the descriptor of a pipe that gets how the program ended,
- ``ending``: a command that is run again and again to end the program before its time, for a client of containers has
  to live until its container is gone; empty for all others,
- ``after``: commands that are run when it has ended, what each prints going into the report.
"""

import base64
import ctypes
import json
import os
import signal
import struct
import sys
from contextlib import suppress
from typing import Any

_PDEATHSIG, _NO_NEW_PRIVS, _SUBREAPER, _SECCOMP, _CAPBSET_DROP = 1, 38, 36, 22, 24
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CAPABILITIES = 64
_VERSION_3 = 0x20080522
_FILE_RIGHTS = 1 | 2 | 4 | 1 << 14 | 1 << 15
"""What can be allowed of a file that is no folder: execute, write, read, truncate, ioctl."""
_LOOK_EVERY_S, _SOON_S = 0.05, 0.01
_TRIES, _LONGEST = 200, 10_000
_libc = ctypes.CDLL(None, use_errno=True)


def main(order: dict[str, Any]) -> int:
    """Start the program and wait until it and all that descends from it is gone; how it ended, as a shell says it."""
    signals = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    _call("prctl", _PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    _call("prctl", _SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != order["parent"]:
        return 1
    failing, failed = os.pipe()
    program = os.fork()
    if not program:
        _become(order, failed)  # pragma: no cover (runs in the child, which becomes another program)
    os.close(failed)
    fault = os.read(failing, 1000)
    if fault:
        os.write(2, fault)
        return 1
    ended: int | None = None
    while ended is None:
        got = signal.sigtimedwait(signals, _LOOK_EVERY_S)
        count, memory = usage_of(os.getpid(), order["most"])
        if (got is not None and got.si_signo == signal.SIGTERM) or count > order["most"] or memory > order["memory"]:
            ended = _ended(program, order["ending"])
        else:
            ended = _reaped(program)
    said = [_output(command) for command in order["after"]]
    with suppress(ChildProcessError):
        while True:
            for group in _groups(os.getpid()):
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
            signal.sigtimedwait({signal.SIGCHLD}, _SOON_S)
            os.waitpid(-1, os.WNOHANG)
    code = 128 - ended if ended < 0 else ended
    os.write(order["report"], json.dumps({"exit-code": code, "after": said}).encode())
    return code


def _ended(program: int, command: list[str]) -> int:
    """End the program before its time: by this command, or without one as all others will be."""
    tries = _TRIES if command else 0
    while tries and _reaped(program) is None:
        tries -= 1
        _output(command)
        signal.sigtimedwait({signal.SIGCHLD}, _LOOK_EVERY_S)
    return -signal.SIGKILL


def _output(command: list[str]) -> str:
    """What a command prints. It starts with the signals of any program."""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setsigmask=())
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as output:
        printed = output.read(_LONGEST)
    os.waitpid(pid, 0)
    return printed


def _reaped(program: int) -> int | None:
    """Reap all that has ended: how the program did, a signal as a negative number; ``None`` if it has not."""
    ended: int | None = None
    with suppress(ChildProcessError):
        while (got := os.waitpid(-1, os.WNOHANG))[0]:
            if got[0] == program:
                ended = os.waitstatus_to_exitcode(got[1])
    return ended


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and not waited for, and those that were left to it."""
    found: list[int] = []
    with suppress(OSError):  # it may end at any time
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as children:
                found += map(int, children.read().split())
    return found


def _groups(pid: int) -> set[int]:
    """The groups of the processes that descend from a process. One is ended at once: none of it can fork meanwhile."""
    found = children_of(pid)
    groups: set[int] = set()
    for child in found:  # grows meanwhile
        found += children_of(child)
        with suppress(ProcessLookupError):
            groups.add(os.getpgid(child))
    return groups


def usage_of(pid: int, most: int) -> tuple[int, int]:
    """The processes and threads that descend from a process, and the bytes of memory that they have of their own.

    The count ends once there are more than ``most``.
    """
    count, memory, waiting = 0, 0, children_of(pid)
    while waiting and count <= most:
        child = waiting.pop()
        waiting += children_of(child)
        with suppress(OSError), open(f"/proc/{child}/status", encoding="utf-8", errors="replace") as status:
            for line in status:
                name, _, value = line.partition(":")
                if name == "Threads":
                    count += int(value)
                elif name in ("RssAnon", "RssShmem"):
                    memory += 1024 * int(value.split()[0])
    return count, memory


def _call(function: str, *arguments: Any) -> int:
    value = getattr(_libc, function)(*arguments)
    if value < 0:  # pragma: no cover (the system refuses none of these; it is said by name if it does)
        code = ctypes.get_errno()
        raise OSError(code, f"{function}: {os.strerror(code)}")
    return value


def _become(order: dict[str, Any], failed: int) -> None:  # pragma: no cover (runs in the child)
    try:
        _call("prctl", _PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.chdir(order["folder"])
        if not order["ending"]:  # clients of containers may need a program that sets its user
            _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
        if order["rules"] is not None:
            _drop_capabilities()
            _restrict(**order["rules"])
        if order["filter"] is not None:
            _filter(base64.b64decode(order["filter"]))
        os.execve(order["argv"][0], order["argv"], order["env"])
    except BaseException as error:  # noqa: BLE001 (whatever it is, nothing of this process may go on)
        os.write(failed, str(error).encode(errors="replace")[:1000])
    os._exit(1)


def _drop_capabilities() -> None:  # pragma: no cover (runs in the child)
    for capability in range(_CAPABILITIES):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)  # refused to whoever has none
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())


def _restrict(handled: list[int], allowed: list[tuple[int, str]]) -> None:  # pragma: no cover (runs in the child)
    """Landlock (landlock(7)): what is handled and not allowed is refused."""
    attributes = (ctypes.c_uint64 * len(handled))(*handled)
    rules = _call("syscall", _CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0)
    for access, path in allowed:
        try:
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # it is not there, or not for us
        folder = os.path.isdir(f"/proc/self/fd/{beneath}")
        rule = struct.pack("=Qi", access if folder else access & _FILE_RIGHTS, beneath)
        _call("syscall", _ADD_RULE, rules, 1, rule, 0)
        os.close(beneath)
    _call("syscall", _RESTRICT_SELF, rules, 0)
    os.close(rules)


def _filter(program: bytes) -> None:  # pragma: no cover (runs in the child)
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    _call("prctl", _SECCOMP, 2, described, 0, 0)


if __name__ == "__main__":
    with open(int(sys.argv[1]), encoding="utf-8") as given:
        whole = json.load(given)
    sys.exit(main(whole))
