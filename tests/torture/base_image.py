"""An image of this machine's own Python for podman, where no registry can be reached: what `Dockerfile` builds upon."""

import fcntl
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import which

PYTHON = os.path.realpath(sys.executable)
_PROGRAMS = ("sh", "mkdir", "cat", "id", "touch")
_NEEDED_BY_WHEELS = ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0")
_LEFT_OUT = {
    "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "pydoc_data",
    "_bundled",
}  # fmt: skip


@cache
def base_image() -> str:
    """The name of the image: Python with pip, a shell and a few programs. It is made once for a Python and stays.

    Raises:
        CalledProcessError: podman cannot import it.
    """
    members = sorted(_members())
    known = [(str(source), target, source.stat().st_size, source.stat().st_mtime_ns) for target, source in members]
    name = f"localhost/micro-agent-tests-base:{sha256(repr(known).encode()).hexdigest()[:12]}"
    lock_at = Path(tempfile.gettempdir(), "micro-agent-tests-base.lock")
    with tempfile.TemporaryFile() as packed, lock_at.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if subprocess.run(["podman", "image", "exists", name], check=False, capture_output=True).returncode:
            with tarfile.open(fileobj=packed, mode="w") as tar:
                _pack(members, tar)
            packed.seek(0)
            subprocess.run(["podman", "import", "-", name], stdin=packed, check=True, capture_output=True)
    return name


def _pack(members: list[tuple[str, Path]], tar: tarfile.TarFile) -> None:
    for folder in ("tmp", "proc", "sys", "dev", "etc", "run", "var"):
        made = tarfile.TarInfo(folder)
        made.type, made.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
        tar.addfile(made)
    for link, target in {**_merged(), "usr/local/bin/python": PYTHON}.items():
        made = tarfile.TarInfo(link)
        made.type, made.linkname = tarfile.SYMTYPE, target
        tar.addfile(made)
    for target, source in members:
        tar.add(source, target, recursive=False)


def _merged() -> dict[str, str]:
    """`/bin` and its like where they are links into `/usr`."""
    return {name: os.readlink(f"/{name}") for name in ("bin", "lib", "lib64", "sbin") if os.path.islink(f"/{name}")}


def _members() -> Iterator[tuple[str, Path]]:
    """What goes into the image: a path there, and the file on this machine."""
    library = Path(sysconfig.get_path("stdlib"))
    binaries = {PYTHON, *(found for name in _PROGRAMS if (found := which(name)))}
    for path in library.rglob("*"):
        # With the modules as they are compiled, or each start of a container would compile them anew.
        other = path.suffix == ".pyc" and not path.name.endswith(f".{sys.implementation.cache_tag}.pyc")
        other = other or path.suffix == ".a" or path.name.startswith("_tkinter.")
        if path.is_file() and not other and not _LEFT_OUT & set(path.relative_to(library).parts):
            yield str(path), path
            if path.suffix == ".so":
                binaries.add(str(path))
    yield from _pip()
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    binaries |= {
        found[1] for name in _NEEDED_BY_WHEELS if (found := re.search(rf"{re.escape(name)} .*=> (\S+)", listed))
    }
    linked = subprocess.run(["ldd", *binaries], check=False, capture_output=True, text=True).stdout
    for path in binaries | set(re.findall(r"(/[^ :)]+\.so[^ :)]*)(?= \(0x)", linked)):
        if not path.startswith(f"{library}/"):
            yield (
                os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)),
                Path(os.path.realpath(path)),
            )


def _pip() -> Iterator[tuple[str, Path]]:
    """The pip of the environment that the tests run in, where the Python itself looks for packages."""
    asked = [PYTHON, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    target = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    packages = Path(sysconfig.get_path("purelib"))
    for folder in (packages / "pip", *packages.glob("pip-*.dist-info")):
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                yield str(Path(target) / path.relative_to(packages)), path
