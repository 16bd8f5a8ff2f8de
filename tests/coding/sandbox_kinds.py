"""What the tests of sandboxes share: a repository with secrets in it, and the kinds that run on this machine."""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

from micro_agent.coding.sandbox import Bounds, Kind, Profile, Ran, Sandbox, SandboxUnavailable, Stage, choose

PYTHON = os.path.realpath(sys.executable)
ATTACKS = Path(__file__).with_name("sandbox_attacks.py")
LONG = Bounds(timeout_s=120.0)
MASKED_FILE, MASKED_FOLDER = Path("/etc/hostname"), Path("/usr/share")
_PROGRAMS = [
    "bash",
    "sh",
    "cat",
    "env",
    "sleep",
    "touch",
    "mkdir",
    "rm",
    "ls",
    "head",
    "yes",
    "setsid",
    "dd",
    "true",
    "kill",
]


@dataclass
class Place:
    """A repository, its state, and what lies around it."""

    root: Path
    state: Path
    outside: Path
    after: ExitStack = field(default_factory=ExitStack)

    def sandbox(self, kind: Kind) -> Sandbox:
        return choose(kind, self.root, state=self.state, masked=(MASKED_FILE, MASKED_FOLDER))

    def status(self) -> str:
        return subprocess.run(
            ["git", "status", "--short"], cwd=self.root, check=True, capture_output=True, text=True
        ).stdout  # fmt: skip

    def tcp(self) -> int:
        return self.after.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]

    def socket(self, kind: int, family: int, at: str | tuple[str, int]) -> socket.socket:
        made = self.after.enter_context(socket.socket(family, kind))
        made.bind(at)
        if kind == socket.SOCK_STREAM:
            made.listen()
        else:
            made.setblocking(False)
        return made


def made_place(folder: Path, name: str = "repository") -> Place:
    """A repository with a commit, and with secrets that are not in it."""
    folder = Path(os.path.realpath(folder))
    root, state, outside = folder / name, folder / "state", folder / "outside"
    for made in (root / "src" / "deep", root / "src" / "secrets", root / "lib", root / ".github", state, outside):
        made.mkdir(parents=True)
    (root / "a.txt").write_text("a\n")
    (root / "src" / "b.txt").write_text("b\n")
    (root / ".github" / "workflow.yml").write_text("on: push\n")
    (root / "lib" / "c.txt").write_text("c\n")
    (root / ".gitignore").write_text(".env\nid_rsa\nsecrets\n.npmrc\nout\n")
    (root / ".env").write_text("KEY=1\n")
    (root / "src" / "deep" / "id_rsa").write_text("PRIVATE\n")
    (root / "src" / "secrets" / "key").write_text("KEY\n")
    (state / "journal").write_text("{}\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=root, check=True, capture_output=True)
    return Place(root, state, outside)


def run(sandbox: Sandbox, *argv: str, profile: Profile = "ro", bounds: Bounds = LONG, stdin: bytes = b"") -> Ran:
    """Run one program."""
    return sandbox.run([Stage(argv)], profile, bounds=bounds, stdin=stdin)


def running(mark: str) -> list[int]:
    """The processes with this text in their arguments, but for those that have ended."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                said = (entry / "cmdline").read_bytes().decode(errors="replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark in said and state not in "ZX":
                found.append(int(entry.name))
    return found


@cache
def image_of_machine() -> str:
    """An image with some programs of this machine, for podman; or why there is none, after ``no``.

    Only what the attacks need goes into it, so that it is made in a second. It stays for the next run.
    """
    engine = shutil.which("podman")
    if engine is None:
        return "no podman"
    files = _files()
    known = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in files]
    name = f"localhost/micro-agent-tests:{sha256(repr(known).encode()).hexdigest()[:12]}"
    with (
        tempfile.TemporaryFile() as packed,
        open(Path(tempfile.gettempdir(), "micro-agent-tests-image.lock"), "a") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not subprocess.run([engine, "image", "exists", name], capture_output=True, check=False).returncode:
            return name
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for folder in ("tmp", "proc", "sys", "dev", "etc", "run", "var"):
                made = tarfile.TarInfo(folder)
                made.type, made.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(made)
            for path in files:
                tar.add(os.path.realpath(path), path)
        packed.seek(0)
        imported = subprocess.run([engine, "import", "-", name], stdin=packed, capture_output=True, check=False)
    if imported.returncode:
        return f"no image: {imported.stderr.decode(errors='replace').strip()[-300:]}"
    return name


def _files() -> list[str]:
    """The programs, what they are linked with, and the modules of Python that the attacks import."""
    found = {path for name in _PROGRAMS if (path := shutil.which(name))} | {PYTHON}
    listing = (
        f"import runpy, sys; runpy.run_path({str(ATTACKS)!r}); import encodings.ascii, encodings.idna\n"
        "print(*{m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)}, sep='\\n')"
    )
    modules = subprocess.run([PYTHON, "-I", "-S", "-c", listing], check=True, capture_output=True, text=True)
    found |= {path for path in modules.stdout.split("\n") if path and path != str(ATTACKS)}
    binary = [path for path in found if not path.endswith(".py")]
    linked = subprocess.run(["ldd", *binary], check=False, capture_output=True, text=True).stdout
    library = os.path.dirname(os.__file__)
    found |= {f"{library}/os.py", f"{library}/collections/abc.py"}  # their modules say other files
    return sorted(found | set(re.findall(r"(/[^ :)]+\.so[^ :)]*)", linked)))


def works(kind: Kind, place: Place) -> Sandbox | str:
    """The sandbox of this kind, or why it does not run here, which the end of the session shows."""
    try:
        return place.sandbox(kind)
    except SandboxUnavailable as error:
        return error.message
