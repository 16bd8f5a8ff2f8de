"""What becomes of the files that a diff names."""

from dataclasses import dataclass
from os import stat_result

from micro_agent.coding.patches.contents import Content
from micro_agent.coding.patches.fitting import Edit
from micro_agent.coding.patches.names import Target


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one path.

    Attributes:
        path: From the root.
        before: What it holds; ``None`` for a file that is not there.
        after: What it is to hold; ``None`` for a file that goes.
        mode: Its mode afterwards.
        was: What the system said of it when it was read.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int
    was: stat_result | None


@dataclass(frozen=True, slots=True)
class Edited:
    """One file of a diff, worked out: what it is and becomes, by which edits, and what was repaired to get there."""

    target: Target
    before: Content
    after: Content
    edits: list[Edit]
    changes: tuple[Change, ...]
    repaired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a diff comes to.

    Attributes:
        changes: What becomes of each path.
        diff: The same as a diff in the one form that it has here, with the numbers and lines of the files.
        data: This diff in the encoding of each file, as git reads it.
        files: The files that it names, in its order; the new name of one that is renamed.
        repaired: What was wrong with the diff and was put right, each with its place.
    """

    changes: tuple[Change, ...]
    diff: str
    data: bytes
    files: tuple[str, ...]
    repaired: tuple[str, ...]
