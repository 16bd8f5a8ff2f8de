"""A filter of system calls, made without a library: what no program of a sandbox needs, and what would lead out of it.

The program is classic BPF over ``struct seccomp_data`` (seccomp(2)): the number of the call is at 0, the architecture
at 4, the arguments from 16 on, eight bytes each. The numbers are in ``syscalls.json``, from the kernel's tables.
"""

import errno
import json
import platform
import socket
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from micro_agent.coding.sandbox.contract import SandboxUnavailable

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_NEW_USER = 0x10000000
_INTO_TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into the terminal of whoever started us
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_NETLINK = 16

Instruction = tuple[int, int, int, int]


@cache
def program(*, internet: bool) -> bytes:
    """The filter as the kernel takes it.

    Sockets of Unix are refused, since the file system is shared with programs outside; pairs of them are not, but for
    datagrams, which can be sent to any name.

    Args:
        internet: Whether sockets of the internet are left: where the network is an empty one, they lead nowhere.

    Raises:
        SandboxUnavailable: The numbers of the calls of this machine are not known.
    """
    tables = json.loads(Path(__file__).with_name("syscalls.json").read_text(encoding="utf-8"))
    machine = platform.machine()
    if machine not in tables:
        raise SandboxUnavailable(f"there is no filter of system calls for {machine}: x86_64 and aarch64 have one")
    table = tables[machine]
    families = (*_INTERNET, _NETLINK) if internet else ()
    built: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, table["arch"]),
        _refuse(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER, 0, 1, table["highest"]),
        _refuse(errno.ENOSYS),
    ]
    built += _when(table["socket"], [(_LOAD, 0, 0, _FIRST), *_unless(families, errno.EACCES)])
    built += _when(table["socketpair"], [(_LOAD, 0, 0, _SECOND), (_AND, 0, 0, 15), *_unless((1, 5), errno.EACCES)])
    built += _when(table["clone"], [(_LOAD, 0, 0, _FIRST), *_flag(_NEW_USER)])
    built += _when(table["unshare"], [(_LOAD, 0, 0, _FIRST), *_flag(_NEW_USER)])
    built += _when(table["clone3"], [_refuse(errno.ENOSYS)])  # its flags are in memory; libraries use clone then
    built += _when(table["setns"], [_refuse(errno.EPERM)])
    terminal = [step for request in _INTO_TERMINAL for step in _when(request, [_refuse(errno.EPERM)])]
    built += _when(table["ioctl"], [(_LOAD, 0, 0, _SECOND), *terminal, (_RETURN, 0, 0, _ALLOW)])
    for number in sorted(table["refused"].values()):
        built += _when(number, [_refuse(errno.EPERM)])
    return b"".join(struct.pack("=HBBI", *step) for step in [*built, (_RETURN, 0, 0, _ALLOW)])


def _refuse(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


def _when(value: int, steps: Sequence[Instruction]) -> list[Instruction]:
    """What is done where the value is this one; it ends with a return."""
    return [(_EQUAL, 0, len(steps), value), *steps]


def _unless(values: Sequence[int], code: int) -> list[Instruction]:
    allowed = [step for value in values for step in _when(value, [(_RETURN, 0, 0, _ALLOW)])]
    return [*allowed, _refuse(code)]


def _flag(flag: int) -> list[Instruction]:
    return [(_ANY_BIT, 0, 1, flag), _refuse(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
