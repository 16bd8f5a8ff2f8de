"""The folder in which an optimization works: what was asked, what training made, the results of both arms."""

import json
from pathlib import Path
from typing import Any

from micro_agent.demos import CompiledDemos, load_demos
from micro_agent.errors import ConfigurationError
from micro_agent.files.jsonl import private_folder, storage_error, write_over
from micro_agent.files.masking import mask_of


class Work:
    """The files of one optimization. They stay when it has ended: they are the evidence, and ``--resume`` reads them.

    Args:
        folder: Of this optimization alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = folder / "asked.json"
        """What was asked for, for people."""
        self.training = folder / "training.jsonl"
        """Training runs and proposals as they came."""
        self.log = folder / "dspy.log"
        """What DSPy printed while it trained."""
        self.traces = folder / "traces"
        """The runs of the held-out tasks."""
        self.evidence = folder / "evidence.json"
        """The figures and what was decided, saved or not."""

    @classmethod
    def open(cls, base: Path, digest: str, *, resume: bool) -> "Work":
        """A new folder ``<digest>-<k>`` in ``base``, or with ``resume`` the latest there is.

        Raises:
            ConfigurationError: There is none to resume.
            StorageError: It cannot be made.
        """
        ends = (path.name.removeprefix(f"{digest}-") for path in base.glob(f"{digest}-*"))
        made = sorted(int(end) for end in ends if end.isdecimal())
        if resume and not made:
            raise ConfigurationError(
                f"nothing to resume in {base}: no optimization began there with the same options, tasks, model and "
                "demos; leave --resume out"
            )
        number = made[-1] if resume else made[-1] + 1 if made else 1
        folder = base / f"{digest}-{number}"
        try:
            private_folder(folder)
            if not (ignored := base / ".gitignore").exists():
                ignored.write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise storage_error("make the folder", folder, error) from error
        return cls(folder)

    def demos(self, arm: str) -> Path:
        """The demos of an arm, in the form of a file of compiled demos."""
        return self.folder / f"{arm}.json"

    def results(self, arm: str) -> Path:
        """The result file of an arm."""
        return self.folder / f"{arm}.jsonl"


def write_json(path: Path, data: Any) -> None:
    """Write JSON for people to read, secrets masked; there is always the old file or the new one.

    Raises:
        StorageError: It cannot be written; what was there is unchanged.
    """
    text = json.dumps(json.loads(mask_of().encode(data)), ensure_ascii=False, indent=1) + "\n"
    _replace(path, text.encode("utf-8", "backslashreplace"))


def save_demos(path: Path, compiled: CompiledDemos, evidence: dict[str, Any]) -> None:
    """Write the file of compiled demos, readable for all; one that is there becomes ``<name>.bak``.

    Raises:
        StorageError: It cannot be written; what was there is unchanged.
    """
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise storage_error("read", path, error) from error
    else:
        _replace(path.with_name(path.name + ".bak"), before)
    named = ("provider", "model", "mode", "instructions")
    data = {"schema_version": 1, **{name: getattr(compiled, name) for name in named}}
    demos = [demo.plain() for demo in compiled.demos]
    write_json(path, {**data, "demos": demos, "evidence": evidence})
    path.chmod(0o644)


def read_demos(path: Path) -> CompiledDemos | None:
    """The demos of an arm, ``None`` while there are none. Raises `DemosError`."""
    return load_demos(path) if path.exists() else None


def _replace(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_over(path, [content])
    except OSError as error:
        raise storage_error("write", path, error) from error
