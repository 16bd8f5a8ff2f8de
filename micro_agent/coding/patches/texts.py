"""What a diff makes of the files of a repository, as texts to be shown beside each other."""

from dataclasses import dataclass
from pathlib import Path

from micro_agent.coding.patches.planning import plan


@dataclass(frozen=True, slots=True)
class Texts:
    """One file: what it holds and what it would hold; ``None`` where it is not there."""

    path: str
    before: str | None
    after: str | None


def texts_of(root: Path, diff: str) -> list[Texts]:
    """The files that a diff would change, as they stand now. Bytes that are no UTF-8 are shown as such.

    Raises:
        PatchError: It cannot be read, or does not fit the files.
    """
    return [Texts(change.path, _text(change.before), _text(change.after)) for change in plan(root, diff).changes]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")
