"""One suite for every kind of sandbox that works here: what a program inside can do, and what it cannot."""

import json
import os
import socket

import pytest

from micro_agent.coding.sandbox import Kind, Profile, Sandbox
from tests.coding.conftest import Noted
from tests.coding.sandbox_kinds import (
    ATTACKS,
    MASKED_FILE,
    MASKED_FOLDER,
    PYTHON,
    Place,
    image_of_machine,
    run,
    works,
)  # fmt: skip

RING, NEW_USER = 425, 0x10000000
GIT = ("write .git/hooks/pre-commit", "write .git/config", "write .github/workflow.yml")
ABSENT = ("write .envrc", "write .gitmodules", "folder .vscode")
AT_TOP = ("write new", "folder made", "swap lib")
BESIDE_SECRETS = ("write src/new",)
WRITES = ("write a.txt", "write src/b.txt", "write lib/new")
SEEN = {"bwrap": {"udp"}, "container": {"udp", "namespace"}, "landlock": {"see"}}
"""Besides what the profile allows. A datagram can be sent in a network of one's own, and goes nowhere."""


@pytest.fixture(params=["bwrap", "container", "landlock", "clone"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """Each kind."""
    if request.param == "container":
        monkeypatch.setenv("MICRO_AGENT_SANDBOX_IMAGE", image_of_machine())
        monkeypatch.setenv("MICRO_AGENT_SANDBOX_ENGINE", "podman --runtime runc")
    return request.param


@pytest.fixture
def sandbox(kind: Kind, place: Place, noted: Noted) -> Sandbox | None:
    """One of the kind; none where it does not run here, which the end of the session says."""
    found = works(kind, place)
    if isinstance(found, str):
        noted(f"{kind} did NOT run: {found}")
        return None
    return found


def attacks(place: Place) -> dict[str, tuple[str, str | int]]:
    """All that is tried, by a name. The repository's own paths are relative: a trial may run in a copy."""
    (place.root / "out").mkdir()
    (place.root / ".npmrc").write_text("token\n")
    inside, outside = str(place.root / "out" / "s"), str(place.outside / "s")
    place.socket(socket.SOCK_STREAM, socket.AF_UNIX, inside)
    place.socket(socket.SOCK_STREAM, socket.AF_UNIX, outside)
    place.socket(socket.SOCK_STREAM, socket.AF_UNIX, f"\0{place.root}")
    place.socket(socket.SOCK_DGRAM, socket.AF_UNIX, f"{place.outside}/datagrams")
    tried: dict[str, tuple[str, str | int]] = {
        "read .env": ("read", ".env"),
        "read id_rsa": ("read", "src/deep/id_rsa"),
        "read secrets": ("read", "src/secrets/key"),
        "read .npmrc": ("read", str(place.root / ".npmrc")),
        "read state": ("read", str(place.state / "journal")),
        "list state": ("read", str(place.state)),
        "read masked": ("read", str(MASKED_FILE)),
        "list masked": ("read", str(MASKED_FOLDER)),
        "write outside": ("write", str(place.outside / "written")),
        "write in system": ("write", "/usr/attack-of-tests"),
        "tcp": ("tcp", place.tcp()),
        "unix": ("unix", inside),
        "unix outside": ("unix", outside),
        "abstract": ("unix", f"@{place.root}"),
        "datagram": ("datagram", f"{place.outside}/datagrams"),
        "resolve": ("resolve", "localhost.example.org"),
        "signal": ("signal_to", os.getpid()),
        "environment of parent": ("environment_of", os.getpid()),
        "see": ("see", os.getpid()),
        "variable": ("variable", "MICRO_AGENT_KEY_OF_TESTS"),
        "namespace": ("namespace", NEW_USER),
        "ring": ("ring", RING),
    }
    for name in (*GIT, *ABSENT, *WRITES, *BESIDE_SECRETS, *AT_TOP):
        way, _, path = name.partition(" ")
        tried[name] = (way, path if way != "swap" else f"{path}|{place.outside}")
    return tried


def allowed(kind: Kind, profile: Profile) -> set[str]:
    """What a program can do."""
    done = set(SEEN[kind])
    if profile != "ro":
        done |= {*WRITES, *BESIDE_SECRETS, *AT_TOP} - {"swap lib"}
    if profile == "try":
        done |= {*GIT, *ABSENT}
    if profile == "rw-repo" and kind == "landlock":
        done -= {*BESIDE_SECRETS, *AT_TOP}
    return done


@pytest.mark.parametrize("profile", ["ro", "rw-repo", "try"])
def test_a_program_can_do_only_what_its_profile_says(
    place: Place, sandbox: Sandbox | None, profile: Profile, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sandbox is None:
        return
    monkeypatch.setenv("MICRO_AGENT_KEY_OF_TESTS", "sk-planted")
    monkeypatch.setenv("HOME", str(place.root))  # so that what is closed there is in sight
    udp = place.socket(socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", 0))
    tried = {**attacks(place), "udp": ("udp", udp.getsockname()[1])}
    if sandbox.kind == "clone":
        del tried["write in system"], tried["resolve"]
    if sandbox.kind == "container":
        del tried["read masked"], tried["list masked"]  # the image has its own
    ran = run(sandbox, PYTHON, "-I", "-S", "-c", ATTACKS.read_text("utf-8"), json.dumps(tried), profile=profile)
    assert ran.stdout, ran
    outcomes: dict[str, str] = json.loads(ran.stdout)
    done = {name for name, outcome in outcomes.items() if outcome == "done"}
    assert set(outcomes) == set(tried)
    if sandbox.kind == "clone":  # it holds nothing, which is what it says
        assert not sandbox.enforces
        assert {"write outside", "tcp", "unix", "abstract", "read .env", "read state", "signal", "udp"} <= done
        assert "variable" not in done
    else:
        assert sandbox.enforces
        assert done == allowed(sandbox.kind, profile)
        assert sorted(os.listdir(place.outside)) == ["datagrams", "s"]
        with pytest.raises(BlockingIOError):
            udp.recv(100)
    if profile == "try" or done & {*WRITES} == set():
        assert place.status() == ""
    if profile == "try" or sandbox.enforces:
        assert not [name for name in (".envrc", ".gitmodules", ".vscode") if os.path.lexists(place.root / name)]
    noted(f"{sandbox.kind} ran: {profile}")
