"""Descriptors of files: how many connections they leave room for, and what is said when there are none."""

import json
import subprocess
import sys
from typing import Any

import pytest

ROOM = """
import json, resource, sys
from micro_agent.server.descriptors import room_for
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(json.dumps([room_for(wanted), *resource.getrlimit(resource.RLIMIT_NOFILE)]))
"""

CROWD = """
import asyncio, json, os, resource, socket, sys
from micro_agent.server.descriptors import telling_once

async def main():
    said = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(telling_once(said.append))
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    clients = [socket.socket() for _ in range(20)]
    used, limits = len(os.listdir("/proc/self/fd")), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, limits[1]))
    for client in clients:
        client.setblocking(False)
        client.connect_ex(address)
    for _ in range(100):
        await asyncio.sleep(0.01)
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0.1)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    server.close()
    print(json.dumps(said))

asyncio.run(main())
"""


def run(script: str, *args: int) -> tuple[Any, str]:
    """What a process of its own prints, and what it complains of."""
    command = [sys.executable, "-c", script, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "expected"),
    [
        (512, 512, 100, [100, 512, 512]),
        (128, 512, 100, [100, 200, 512]),
        (128, 150, 100, [75, 150, 150]),
        (64, 64, 4096, [32, 64, 64]),
    ],
)  # fmt: skip
def test_half_of_the_descriptors_are_for_connections(soft: int, hard: int, wanted: int, expected: list[int]) -> None:
    assert run(ROOM, soft, hard, wanted) == (expected, "")


def test_that_there_are_no_descriptors_left_is_said_once_and_other_defects_as_ever() -> None:
    said, complaints = run(CROWD)
    (line,) = said
    assert "ulimit -n" in line
    assert "out of system resource" not in complaints
    assert complaints.count("ZeroDivisionError") == 1
