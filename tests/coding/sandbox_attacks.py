"""What the tests run inside of sandboxes: it tries to get out in each way it is told, and prints what came of each.

It is a program of its own, of the standard library alone. Its argument is JSON: what to try, by a name.
"""

import ctypes
import errno
import json
import os
import socket
import sys
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)


def _system(*arguments: int) -> None:
    if _libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def write(path: str) -> None:
    """Write at the end of a file, which is made if it is not there."""
    with open(path, "a") as file:
        file.write("attacked\n")


def read(path: str) -> None:
    """Find something in a file, or in a folder."""
    if os.path.isdir(path):
        found = bool(os.listdir(path))
    else:
        with open(path, "rb") as file:
            found = bool(file.read(10))
    if not found:
        raise OSError(errno.ENODATA, "empty")


def folder(path: str) -> None:
    """Make a folder with a file in it."""
    os.mkdir(path)
    write(f"{path}/file")


def tcp(port: int) -> None:
    """Connect to the machine."""
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        pass


def udp(port: int) -> None:
    """Send it a datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"attack", ("127.0.0.1", port))


def unix(name: str) -> None:
    """Connect to a socket by its path, or by its abstract name after an ``@``."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + name[1:] if name.startswith("@") else name)


def datagram(name: str) -> None:
    """Send to such a socket from one of a pair, which needs no other."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"attack", "\0" + name[1:] if name.startswith("@") else name)


def resolve(name: str) -> None:
    """Ask for an address."""
    socket.getaddrinfo(name, 80)


def signal_to(pid: int) -> None:
    """Reach a process."""
    os.kill(pid, 0)


def see(pid: int) -> None:
    """Read how a process was started."""
    read(f"/proc/{pid}/cmdline")


def environment_of(pid: int) -> None:
    """Read its variables."""
    read(f"/proc/{pid}/environ")


def variable(name: str) -> None:
    """Find a variable."""
    if name not in os.environ:
        raise OSError(errno.ENODATA, "absent")


def namespace(flags: int) -> None:
    """Make a namespace of one's own."""
    if _libc.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def ring(number: int) -> None:
    """Make a ring of io_uring, whose calls no filter sees."""
    _system(number, 0, 0)


def swap(path: str) -> None:
    """Write through a link that was put in the place of a folder."""
    within, target = path.split("|")
    os.mkdir("aside")
    os.rename(f"{within}/c.txt", "aside/c.txt")
    for left in os.listdir(within):
        os.unlink(f"{within}/{left}")
    os.rmdir(within)
    os.symlink(target, within)
    write(f"{within}/through-link")


WAYS: dict[str, Callable[..., None]] = {
    way.__name__: way
    for way in (
        write,
        read,
        folder,
        tcp,
        udp,
        unix,
        datagram,
        resolve,
        signal_to,
        see,
        environment_of,
        variable,
        namespace,
        ring,
        swap,
    )
}

if __name__ == "__main__":
    outcomes: dict[str, str] = {}
    for name, (way, what) in json.loads(sys.argv[1]).items():
        try:
            WAYS[way](what)
            outcomes[name] = "done"
        except socket.gaierror:
            outcomes[name] = "unknown"
        except OSError as error:
            outcomes[name] = errno.errorcode.get(error.errno or 0, str(error))
    sys.stdout.write(json.dumps(outcomes))
