"""What the tests of patches share: a repository, what is in a folder, a sandbox that holds nothing back."""

import os
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from micro_agent.coding.sandbox import Bounds, Kind, Profile, Ran, Stage

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
CHANGE = "--- a/f.txt\n+++ b/f.txt\n@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n"
CHANGED = LINES.replace("five", "5")


def repository(folder: Path, files: Mapping[str, Any] | None = None) -> Path:
    """A folder with git's own files that are to be left alone, and with these."""
    root = folder / "root"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    put(root, {"f.txt": LINES} if files is None else files)
    return root


def put(root: Path, files: Mapping[str, Any]) -> None:
    """Write the files of a case: texts, bytes, texts with a mode, or links."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = cast("dict[str, Any]", content) if isinstance(content, dict) else {"text": content}
        if "link" in entry:
            path.symlink_to(entry["link"])
            continue
        text = entry["text"]
        path.write_bytes(text if isinstance(text, bytes) else str(text).encode())
        path.chmod(int(entry.get("mode", "644"), 8))


def everything(folder: Path) -> dict[str, Any]:
    """All that is below a folder."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        is_file = path.is_file() and not path.is_symlink()
        shown = (mode, path.read_bytes()) if is_file else os.readlink(path) if path.is_symlink() else "folder"
        found[str(path.relative_to(folder))] = shown
    return found


def files_of(folder: Path) -> dict[str, Any]:
    """The ordinary files below a folder, but for git's own."""
    found = everything(folder).items()
    return {name: shown for name, shown in found if isinstance(shown, tuple) and not name.startswith(".git/")}


class Unenclosed:
    """A sandbox that runs programs as they are; ``exit`` is said of them whatever they do."""

    kind: Kind = "clone"
    enforces = False

    def __init__(self, root: Path, *, code: int | None = 0, stderr: bytes | None = None) -> None:
        self.root, self.code, self.stderr, self.ran = root, code, stderr, list[tuple[str, ...]]()

    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds | None = None,
    ) -> Ran:  # fmt: skip
        """Run one program."""
        self.ran += [stage.argv for stage in pipeline]
        assert profile == "ro"
        started = time.monotonic()
        done = subprocess.run(pipeline[0].argv, cwd=self.root / cwd, input=stdin, capture_output=True, check=False)
        code, stderr = (done.returncode, done.stderr) if self.stderr is None else (self.code, self.stderr)
        return Ran(code, done.stdout, stderr, len(done.stdout), len(stderr), code is None, time.monotonic() - started)


class Agreeing(Unenclosed):
    """A sandbox in which git says that a patch applies, unasked."""

    def run(self, pipeline: Sequence[Stage], profile: Profile, **_: Any) -> Ran:
        """Run nothing."""
        return Ran(0, b"", b"", 0, 0, timed_out=False, duration_s=0.0)
