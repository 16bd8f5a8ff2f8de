"""Which sandbox is taken, what is said of those that do not hold, and what their parts do on other machines."""

import json
import os
import platform
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from micro_agent.coding.sandbox import Bounds, SandboxUnavailable, Stage, choose, launcher
from micro_agent.coding.sandbox.bwrap import Bwrap
from micro_agent.coding.sandbox.canary import check
from micro_agent.coding.sandbox.clone import Clone
from micro_agent.coding.sandbox.closed import Inside, outside
from micro_agent.coding.sandbox.container import Container
from micro_agent.coding.sandbox.holding import copied, held
from micro_agent.coding.sandbox.landlock import Landlock
from micro_agent.coding.sandbox.seccomp import program
from tests.coding.sandbox_kinds import LONG, Place, made_place, run

ENGINE = """#!/bin/bash
# An engine that runs the program of a container as it is. ENGINE_* say what goes wrong.
shift  # the option that the setting adds
echo "$*" >>"$ENGINE_LOG"
case "$1" in
    image) exit "${ENGINE_IMAGE:-0}" ;;
    inspect) echo "$ENGINE_STATE" ;;
    run)
        [ -z "$ENGINE_FAULT" ] || { echo "$ENGINE_FAULT" >&2; exit 125; }
        while [ "$1" != --entrypoint ]; do shift; done
        program=$2; shift 3
        TMPDIR=${ENGINE_LOG%/*} "$program" "$@" || exit "${ENGINE_EXIT:-$?}" ;;
    kill) pkill -KILL -P "$PPID" -f played-sleep ;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine of containers that holds nothing; what it is asked stands in the file."""
    played = tmp_path / "played-engine"
    played.write_text(ENGINE)
    played.chmod(0o755)
    monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", f"{played} --option")
    monkeypatch.setenv("ENGINE_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose system calls are not known."""
    program.cache_clear()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    yield
    program.cache_clear()


def test_the_strongest_is_taken(place: Place) -> None:
    sandbox = choose("auto", place.root, state=place.state)
    assert (sandbox.kind, sandbox.enforces) == ("bwrap", True)
    assert choose("auto", place.root, state=place.state) is sandbox  # it is tried once
    assert place.status() == ""
    assert not list(Path.home().glob(".canary-*"))
    assert os.listdir(place.state / "sandbox") == ["view"]


@pytest.mark.usefixtures("other_machine")
def test_no_kind_is_taken_silently(place: Place, engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("bwrap", "landlock"):
        with pytest.raises(SandboxUnavailable, match="riscv64") as error:
            choose(kind, place.root, state=place.state)
        assert error.value.code == "SANDBOX_UNAVAILABLE"
    with pytest.raises(SandboxUnavailable, match=r"container does not hold: its canary .*connected.*wrote"):
        choose("container", place.root, state=place.state)
    sandbox = choose("auto", place.root, state=place.state)
    assert isinstance(sandbox, Clone)
    assert not sandbox.enforces
    assert [sandbox.because.count(word) for word in ("riscv64", "container does not hold")] == [2, 1]
    assert run(sandbox, "true").exit == 0
    monkeypatch.setenv("ENGINE_IMAGE", "1")
    assert "container" not in choose("auto", place.root, state=place.state / "other").because  # type: ignore[attr-defined]
    monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", "nosuch-engine")
    assert choose("auto", place.root, state=place.state / "third").kind == "clone"
    assert choose("clone", place.root, state=place.state).kind == "clone"
    assert engine.read_text().startswith("run ")
    assert place.status() == ""
    (place.state / "fourth").write_text("")
    with pytest.raises(SandboxUnavailable, match=r"cannot be tried: .*Not a directory"):
        choose("container", place.root, state=place.state / "fourth")


def test_a_canary_that_gets_out_is_seen(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place.outside))
    with pytest.raises(SandboxUnavailable, match=r"canary read .*, connected, wrote .*, wrote .*, wrote "):
        check(Clone(place.root, place.state), place.root, place.state)
    assert place.status() == ""
    assert os.listdir(place.outside) == []
    monkeypatch.setenv("PATH", "/nowhere")
    broken = Bwrap(place.root, place.state)
    monkeypatch.setattr("micro_agent.coding.sandbox.canary._TRIES", "echo why >&2; exit 4")
    with pytest.raises(SandboxUnavailable, match="bwrap does not work: its canary ended with 4 why"):
        check(broken, place.root, place.state)


def test_what_an_engine_says(place: Place, engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Container(place.root, place.state)
    assert run(sandbox, "bash", "-c", "exit 5").exit == 5
    ran = run(sandbox, "bash", "-c", "exec -a played-sleep sleep 60", bounds=Bounds(timeout_s=1.0))
    assert (ran.exit, ran.timed_out) == (None, True)
    told = sandbox.run([Stage(("true",))], "try", env={"PATH": "/x:/bin:/usr/bin"}, bounds=LONG)
    assert told.exit == 0
    assert "--env PATH=/x:/bin:/usr/bin" in engine.read_text()
    assert "rm --force micro-agent-" in engine.read_text()
    monkeypatch.setenv("ENGINE_EXIT", "125")
    states = {"exited 3": 3, "exited -1": None, "running 0": None, "stopped 0": None}
    for state, status in states.items():
        monkeypatch.setenv("ENGINE_STATE", state)
        assert run(sandbox, "false").exit == status
    monkeypatch.setenv("ENGINE_STATE", "no such object")
    monkeypatch.setenv("ENGINE_FAULT", "no such image")
    with pytest.raises(SandboxUnavailable, match="image micro-agent-sandbox cannot be started: no such image"):
        run(sandbox, "true")
    monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", "nosuch-engine")
    with pytest.raises(SandboxUnavailable, match="there is no nosuch-engine"):
        run(sandbox, "true")


def test_a_container_cannot_mount_every_path(tmp_path: Path, engine: Path) -> None:
    from micro_agent.coding.sandbox.container import Container

    place = made_place(tmp_path, "a,b")
    with pytest.raises(SandboxUnavailable, match=r"cannot mount .*, which holds a comma"):
        run(Container(place.root, place.state), "true")
    assert not engine.exists()


def test_what_cannot_be_protected(place: Place) -> None:
    sandbox = place.sandbox("bwrap")
    (place.root / ".vscode").symlink_to("src")
    with pytest.raises(SandboxUnavailable, match=r"\.vscode is a link and cannot be protected"):
        run(sandbox, "true", profile="rw-repo")
    assert run(sandbox, "true").exit == 0
    (place.root / ".vscode").unlink()
    os.mknod(place.root / ".envrc", 0o140000)  # as a crash leaves it
    assert run(sandbox, "true").exit == 0
    assert not (place.root / ".envrc").exists()
    Path(place.state, "sandbox", "micro-agent-left").mkdir()
    assert run(sandbox, "true").exit == 0
    assert not Path(place.state, "sandbox", "micro-agent-left").exists()


def test_what_cannot_be_set_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxUnavailable, match=r"bwrap cannot be started: .*Argument list too long"):
        run(Bwrap(place.root, place.state), "echo", "x" * 200_000)
    with pytest.raises(SandboxUnavailable, match=r"a program cannot be started: .*Argument list too long"):
        run(Clone(place.root, place.state), "echo", "x" * 200_000)
    with pytest.raises(SandboxUnavailable, match=r"bwrap cannot set up its sandbox: bwrap: .*size"):
        run(Bwrap(place.root, place.state), "true", bounds=Bounds(disk=-1))
    with held(place.state, place.root), pytest.raises(SandboxUnavailable, match="cannot be copied for a trial: cp: "):
        copied(Path("/nowhere"), place.state)
    here = Path("/proc/self")
    with (
        pytest.raises(SandboxUnavailable, match="cannot be kept from being made"),
        held(place.state, here, protected=True),
    ):
        pass
    monkeypatch.setattr("micro_agent.coding.sandbox.landlock._OLDEST", 1000)
    with pytest.raises(SandboxUnavailable, match=r"the kernel has version .* of Landlock; 1000 is needed"):
        run(Landlock(place.root, place.state), "true")


def test_a_repository_in_a_closed_folder(place: Place) -> None:
    around = place.root.parent
    sandbox = Bwrap(place.root, place.state, (around,))
    ran = run(
        sandbox, "bash", "-c", 'ls -A "$1"; touch "$1/x"; touch made; cat a.txt', "bash", str(around), profile="try"
    )
    assert (ran.exit, ran.stdout) == (0, b"repository\na\n")
    assert b"Read-only" in ran.stderr


def test_a_trial_without_views_is_a_copy(place: Place) -> None:
    (place.state / "sandbox").mkdir()
    (place.state / "sandbox" / "view").write_text("in the way")
    sandbox = choose("bwrap", place.root, state=place.state)
    assert isinstance(sandbox, Bwrap)
    assert not sandbox.overlay
    ran = run(sandbox, "bash", "-c", "echo >>a.txt; cat .env src/secrets/key; cat a.txt", profile="try")
    assert (ran.exit, ran.stdout, place.status()) == (0, b"a\n\n", "")


def test_a_launcher_without_its_parent_starts_nothing(tmp_path: Path) -> None:
    order = tmp_path / "order"
    order.write_text(json.dumps({"parent": 1, "argv": ["/usr/bin/touch", str(tmp_path / "made")]}))
    with order.open("rb") as held_open:
        command = [sys.executable, "-I", launcher.__file__, str(held_open.fileno())]
        assert subprocess.run(command, pass_fds=(held_open.fileno(),), check=False).returncode == 1
    assert not (tmp_path / "made").exists()


def test_what_is_closed_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for name in (".ssh/id", ".config/gh/hosts.yml", ".config/git/config", "kube", "notes"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    (home / ".aws").symlink_to(home / "notes")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KUBECONFIG", f"relative:{home}/kube")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)  # a user without a name or a home
    found = [path for path in outside([home / ".ssh" / "id", tmp_path / "nowhere"]) if tmp_path in path.parents]
    assert found == [home / name for name in (".config/gh", ".ssh", "kube", "notes")]


def test_what_is_closed_inside(place: Place, tmp_path: Path) -> None:
    root = place.root
    inside = Inside(root)
    always = {root / ".env", root / "src" / "deep" / "id_rsa", root / "src" / "secrets"}
    assert tuple(map(set, inside.found())) == (always, set())
    (root / "node_modules" / "package").mkdir(parents=True)
    (root / "node_modules" / "package" / "ca.pem").touch()
    (root / "lib" / "key.pem").touch()
    os.mkfifo(root / "lib" / "pipe")
    (root / "lib" / "sub" / ".git").mkdir(parents=True)
    (root / "lib" / "notes").touch()
    (root / "lib" / ".netrc").symlink_to("notes")
    (root / "lib" / "cert.pem").symlink_to("/bin/sh")
    (root / "lib" / "gone.pem").symlink_to("nowhere")
    lib = {root / "lib" / name for name in ("key.pem", "pipe", "notes")}
    assert tuple(map(set, inside.found())) == (always | lib, {root / "lib" / "sub" / ".git"})
    time.sleep(0.15)  # older than the clock of a file system is coarse: now it is remembered
    assert inside.found() == inside.found()
    (root / "src" / "secrets" / "key").unlink()
    (root / "src" / "secrets").rmdir()
    assert root / "src" / "secrets" not in inside.found()[0]
    assert Inside(tmp_path / "nowhere").found() == ([], [])


def test_a_user_of_podman_is_the_same_inside(place: Place, engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    podman = place.outside / "podman"
    podman.write_text(ENGINE)
    podman.chmod(0o755)
    monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", f"{podman} --option")
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert run(Container(place.root, place.state), "true").exit == 0
    assert "--user 1000:" in engine.read_text()
    assert "--userns keep-id" in engine.read_text()


NAMES = ("socket", "pair", "clone", "ptrace", "write", "ioctl", "unshare")
MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (0xC000003E, dict(zip(NAMES, (41, 53, 56, 101, 1, 16, 272), strict=True))),
    "aarch64": (0xC00000B7, dict(zip(NAMES, (198, 199, 220, 117, 64, 29, 97), strict=True))),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_of_system_calls(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arch, calls = MACHINES[machine]
    monkeypatch.setattr(platform, "machine", lambda: machine)
    program.cache_clear()
    with_internet, without = program(internet=True), program(internet=False)
    program.cache_clear()

    def refused(name: str | int, first: int = 0, second: int = 0, *, internet: bool = True, on: int = arch) -> bool:
        number = calls[name] if isinstance(name, str) else name
        return judged(with_internet if internet else without, number, on, first, second) != 0x7FFF0000

    families = (socket.AF_INET, socket.AF_INET6, 16, socket.AF_UNIX, 17, 38, 40)
    assert [refused("socket", family) for family in families] == [False] * 3 + [True] * 4
    assert all(refused("socket", family, internet=False) for family in families)
    kinds = (1, 5, 1 | 0o2000000, 2, 3, 2 | 0o4000)
    assert [refused("pair", 1, kind) for kind in kinds] == [False] * 3 + [True] * 3
    assert [refused(name, flags) for name in ("clone", "unshare") for flags in (0x11, 0x10000011)] == [False, True] * 2
    assert [refused("ioctl", 0, request) for request in (0x5401, 0x5412, 0x541C)] == [False, True, True]
    assert [refused(name) for name in ("write", "ptrace", 435, 425, 0x40000001)] == [False, True, True, True, True]
    assert refused("write", on=0x40000003)  # of another architecture


def judged(filtering: bytes, number: int, arch: int, first: int, second: int) -> int:
    """What the kernel would do: a machine for the few instructions that the filter has."""
    data = {0: number, 4: arch, 16: first, 24: second}
    steps = list(struct.iter_unpack("=HBBI", filtering))
    held_value, at = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held_value = data[value]
            case 0x54:
                held_value &= value
            case 0x15:
                at += yes if held_value == value else no
            case 0x25:
                at += yes if held_value > value else no
            case 0x45:
                at += yes if held_value & value else no
            case _:
                return value
