"""Which sandbox is taken, what is said of those that do not hold, and what their parts do on other machines."""

import json
import os
import platform
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from micro_agent.coding.sandbox import Bounds, SandboxUnavailable, Stage, choose
from micro_agent.coding.sandbox.bwrap import Bwrap
from micro_agent.coding.sandbox.canary import check
from micro_agent.coding.sandbox.clone import Clone
from micro_agent.coding.sandbox.closed import Inside, outside
from micro_agent.coding.sandbox.landlock import Landlock
from micro_agent.coding.sandbox.seccomp import program
from tests.coding.sandbox_kinds import LONG, Place, run

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
        "$program" "$@" || exit "${ENGINE_EXIT:-$?}" ;;
    kill) pkill -KILL -P "$PPID" -f played-sleep ;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An engine of containers that holds nothing; what it is asked stands in the file."""
    played = tmp_path / "played-engine"
    played.write_text(ENGINE)
    played.chmod(0o755)
    monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", f"{played} --option")
    monkeypatch.setenv("ENGINE_LOG", str(tmp_path / "log"))
    yield tmp_path / "log"


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
    with pytest.raises(SandboxUnavailable, match="container does not hold: its canary .*connected.*wrote"):
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
    with pytest.raises(SandboxUnavailable, match="cannot be tried: .*Not a directory"):
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
    from micro_agent.coding.sandbox.container import Container

    sandbox = Container(place.root, place.state)
    assert run(sandbox, "bash", "-c", "exit 5").exit == 5
    ran = run(sandbox, "bash", "-c", "exec -a played-sleep sleep 60", bounds=Bounds(timeout_s=1.0))
    assert (ran.exit, ran.timed_out) == (None, True)
    told = sandbox.run([Stage(("true",))], "try", env={"PATH": "/x:/bin:/usr/bin"}, bounds=LONG)
    assert told.exit == 0
    assert "--env PATH=/x:/bin:/usr/bin" in engine.read_text()
    assert f"rm --force micro-agent-" in engine.read_text()
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
    from tests.coding.sandbox_kinds import made_place

    place = made_place(tmp_path, "a,b")
    with pytest.raises(SandboxUnavailable, match="cannot mount .*, which holds a comma"):
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
    (place.root / "big").write_bytes(b"x" * 100_000)
    with pytest.raises(SandboxUnavailable, match="bwrap cannot be started: .*Argument list too long"):
        run(Bwrap(place.root, place.state), "echo", "x" * 200_000)
    with pytest.raises(SandboxUnavailable, match="a program cannot be started: .*Argument list too long"):
        run(Clone(place.root, place.state), "echo", "x" * 200_000)
    view = place.state / "sandbox" / "view"
    view.rmdir() if view.exists() else None
    view.write_text("")
    with pytest.raises((SandboxUnavailable, FileExistsError)):
        run(Bwrap(place.root, place.state), "true", profile="try")
    copied = Bwrap(place.root, place.state, overlay=False)
    ran = run(copied, "bash", "-c", "echo >>a.txt; cat .env; cat a.txt", profile="try")
    assert (ran.exit, ran.stdout, place.status()) == (0, b"a\n\n", "?? big\n")
