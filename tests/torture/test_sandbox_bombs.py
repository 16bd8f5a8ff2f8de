"""Programs that take all they can get, in every kind of sandbox; and our own process killed at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from micro_agent.coding.sandbox import Bounds, Kind, Profile, Sandbox, Stage
from tests.coding.sandbox_kinds import Place, image_of_machine, made_place, run, running, works

pytestmark = pytest.mark.torture
GIGABYTES = 10
ROUNDS = 6
FLOOD = """
import json, resource, sys, time
from pathlib import Path
from micro_agent.coding.sandbox import Bounds, Stage, choose
kind, root, state, count = sys.argv[1:]
sandbox = choose(kind, Path(root), state=Path(state))
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = used()
stages = [Stage(("yes", "0123456789" * 10)), Stage(("head", "-c", count))]
ran = sandbox.run(stages, "ro", bounds=Bounds(timeout_s=550.0))
print(json.dumps([ran.exit, ran.stdout_bytes, len(ran.stdout), used() - before]))
"""
OURS = """
import sys
from pathlib import Path
from micro_agent.coding.sandbox import Bounds, Stage, choose
from micro_agent.coding.sandbox import bwrap, clone, container, landlock
kind, root, state, mark, profile = sys.argv[1:]
kinds = {"bwrap": bwrap.Bwrap, "container": container.Container, "landlock": landlock.Landlock, "clone": clone.Clone}
sandbox = kinds[kind](Path(root), Path(state))
script = f"exec 2>/dev/null; setsid sleep {mark} & setsid -f sleep {mark} >/dev/null <&1; sleep {mark}"
print("starts", flush=True)
sandbox.run([Stage(("bash", "-c", script))], profile, bounds=Bounds(timeout_s=600.0))
"""


@pytest.fixture
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        made = made_place(Path(folder))
        with made.after:
            yield made


@pytest.fixture(params=["bwrap", "container", "landlock", "clone"])
def sandbox(request: pytest.FixtureRequest, place: Place, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    kind: Kind = request.param
    if kind == "container":
        monkeypatch.setenv("MICRO_AGENT_SANDBOX_IMAGE", image_of_machine())
        monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", "podman --runtime runc")
    found = works(kind, place)
    if isinstance(found, str):
        pytest.skip(f"{kind} does not run here: {found}")
    return found


def mark_of(number: int) -> str:
    return f"{number}{os.getpid()}{time.monotonic_ns()}"


def wait_until_gone(mark: str) -> None:
    until = time.monotonic() + 300
    while running(mark):
        assert time.monotonic() < until, running(mark)
        time.sleep(0.05)


def test_a_flood_of_output(place: Place, sandbox: Sandbox) -> None:
    count = GIGABYTES * 10**9 if sandbox.kind == "bwrap" else 10**9
    command = [sys.executable, "-c", FLOOD, sandbox.kind, place.root, place.state, str(count)]
    exit_status, written, kept, memory = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert (exit_status, written, kept) == (141, count, 200_000)  # of `yes`, whose reader has ended
    assert memory < 50_000_000


def test_a_bomb_of_forks(sandbox: Sandbox) -> None:
    mark = mark_of(6)
    bomb = f"bomb() {{ sleep 0.05; bomb | bomb & }}; trap '' TERM; : {mark}; bomb; sleep {mark}"
    ran = run(sandbox, "bash", "-c", bomb, bounds=Bounds(timeout_s=20.0, processes=100))
    assert ran.exit in (None, 137)
    assert running(mark) == []
    assert run(sandbox, "true").exit == 0


def test_a_bomb_of_forks_in_sessions_of_their_own(place: Place) -> None:
    """Only a process namespace ends them for certain where the system refuses root no process."""
    mark = mark_of(7)
    again = 'setsid bash -c "$0" "$0" &'
    bomb = f"bomb() {{ sleep 0.1; {again} {again} }}; : {mark}; bomb; sleep {mark}"
    ran = place.sandbox("bwrap").run([Stage(("bash", "-c", bomb, bomb))], "ro", bounds=Bounds(20.0, processes=100))
    assert ran.exit in (None, 137)
    assert running(mark) == []


def test_memory_of_many(sandbox: Sandbox) -> None:
    grow = "for n in 1 2 3 4 5 6 7 8; do (printf -v x %90000000s ''; sleep 20) & done; wait"
    ran = run(sandbox, "bash", "-c", grow, bounds=Bounds(timeout_s=100.0, memory=400_000_000))
    assert ran.exit in (0, 137)  # a container's system may end the processes one by one
    assert not ran.timed_out


@pytest.mark.parametrize("profile", ["ro", "rw-repo", "try"])
def test_our_process_killed_at_any_moment(place: Place, sandbox: Sandbox, profile: Profile) -> None:
    slow = sandbox.kind == "container"
    mark = mark_of(8)
    for _ in range(2 if slow else ROUNDS):
        command = [sys.executable, "-c", OURS, sandbox.kind, place.root, place.state, mark, profile]
        ours = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert ours.stdout is not None
        ours.stdout.readline()
        time.sleep(random.uniform(0, 1.5 if slow else 0.12))
        ours.send_signal(signal.SIGKILL)
        ours.wait()
        ours.stdout.close()
        assert place.status() == ""
    wait_until_gone(mark)
    assert run(sandbox, "true").exit == 0
    assert sorted(os.listdir(place.root)) == [".env", ".git", ".github", ".gitignore", "a.txt", "lib", "src"]
    assert not list((place.state / "sandbox").glob("micro-agent-*"))
