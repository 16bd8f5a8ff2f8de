"""Where tasks are worked on: a repository of its own for each trial, made from a template in a few milliseconds."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from weakref import finalize

from micro_agent.evaluation.coding.repository import Repository

_BESIDE = "This file belongs to nobody's task.\n"
_WHEN = "2026-01-05T09:00:00+00:00"
"""The date of the one commit: with it, the same files give the same commit."""
_WHO = {"GIT_AUTHOR_NAME": "Robin", "GIT_AUTHOR_EMAIL": "robin@example.org", "GIT_AUTHOR_DATE": _WHEN}


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one trial.

    Attributes:
        folder: It holds the repository (``repo``), its remote (``origin.git``) and a file beside them (``beside``).
        state: The folder of all state of the agent that works there.
        template: What ``folder`` was copied from.
    """

    folder: Path
    state: Path
    template: Path

    @property
    def repo(self) -> Path:
        """The repository that the agent works in."""
        return self.folder / "repo"


class Places:
    """Folders for trials, below one temporary folder. Safe to share between threads.

    A folder is used again once its trial is over: what is tried once for each repository, such as the sandbox, need
    not be tried again. They are removed at the end: of the ``with``, or of the process.
    """

    def __init__(self) -> None:
        self._free: list[Path] = []
        self._made = 0
        self._lock = Lock()

    @cached_property
    def _folder(self) -> Path:
        made = Path(os.path.realpath(mkdtemp(prefix="micro-agent-eval-")))
        self._remove = finalize(self, shutil.rmtree, made, ignore_errors=True)
        return made

    def __enter__(self) -> "Places":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folders."""
        if "_folder" in vars(self):
            self._remove()

    @contextmanager
    def of(self, repository: Repository) -> Generator[Place]:
        """A fresh copy of a repository, for one trial."""
        with self._lock:
            template = self._template(repository)
            self._made += not self._free
            at = self._free.pop() if self._free else self._folder / f"place-{self._made}"
        shutil.rmtree(at, ignore_errors=True)
        place = Place(at / "work", at / "state", template)
        place.state.mkdir(parents=True, mode=0o700)
        shutil.copytree(template, place.folder, symlinks=True)
        try:
            yield place
        finally:
            with self._lock:
                self._free.append(at)

    def _template(self, repository: Repository) -> Path:
        files = repository.contents()
        made = self._folder / f"template-{sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]}"
        if not made.exists():
            unfinished = made.with_suffix(".tmp")
            shutil.rmtree(unfinished, ignore_errors=True)
            _make(unfinished, files)
            unfinished.rename(made)
        return made


def written(files: dict[str, str], folder: Path) -> None:
    """Write files below a folder; what is there already is replaced, links too: code of a model may have made them."""
    for path, text in files.items():
        target = folder / path
        for way in (*reversed(target.parents[: len(Path(path).parts) - 1]), target):  # from above: nothing is followed
            if way.is_symlink():
                way.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")


def _make(folder: Path, files: dict[str, str]) -> None:
    repo = folder / "repo"
    written(files, repo)
    written({"keep.txt": _BESIDE}, folder / "beside")
    _git("init", "-q", "--template=", "-b", "main", ".", at=repo)
    _git("add", "-A", at=repo)
    _git("commit", "-q", "-m", "As it was found", at=repo)
    _git("init", "-q", "--bare", "--template=", "-b", "main", "../origin.git", at=repo)
    _git("remote", "add", "origin", "../origin.git", at=repo)
    _git("push", "-q", "origin", "main", at=repo)


def _git(*args: str, at: Path) -> None:
    committer = {name.replace("AUTHOR", "COMMITTER"): value for name, value in _WHO.items()}
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **_WHO, **committer}
    known = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *args], cwd=at, env={**known, **own}, check=True, capture_output=True, timeout=60)
