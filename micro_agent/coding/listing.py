"""The files of a repository that a model may know of, and patterns of their names."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from itertools import islice
from re import compile as compiled

from micro_agent.coding.git import git_output, names_in
from micro_agent.coding.paths import is_closed
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError

_MOST = 1_000_000
"""Files that are looked at in a folder that is no git repository."""
_MOST_CHOICES = 50
_MAGIC = frozenset("*?[")


def list_files(place: Workplace) -> list[str]:
    """The files that git tracks or would add, sorted by path; of a folder without git, all. Closed ones are left out.

    They are ordinary files and links.
    """
    return sorted({path for path in _known(place) if not is_closed(path) and _is_there(place, path)})


def _known(place: Workplace) -> Iterator[str]:
    asked = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if os.path.lexists(place.root / ".git"):
        try:
            yield from names_in(git_output(place, *asked, reads_files=False))
        except ToolError as error:
            if error.code != "GIT_FAILED":  # a .git that is none: the files are there all the same
                raise
        else:
            return
    yield from islice(_walked(str(place.root)), _MOST)


def _walked(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        paths = names if below == "." else [f"{below}/{name}" for name in names]
        folders[:] = sorted(name for name in folders if not is_closed(os.path.normpath(f"{below}/{name}/x")))
        yield from paths


def _is_there(place: Workplace, path: str) -> bool:
    """Whether it is a file or a link: git also names what was deleted, and the folders of other repositories."""
    try:
        mode = os.lstat(f"{place.root}/{path}").st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def matcher(glob: str) -> Callable[[str], bool]:
    """Whether a path matches a pattern: ``*`` within a name, ``**`` over folders, ``?``, ``[ab]``, ``{a,b}``.

    A pattern without a slash matches a name in any folder; one that names a folder matches what is in it.
    """
    choices = [_one(choice) for choice in _choices(glob)]
    return lambda path: any(choice(path) for choice in choices)


def _choices(glob: str) -> list[str]:
    """The patterns that one with braces stands for."""
    found, done = [glob], list[str]()
    while found and len(found) + len(done) <= _MOST_CHOICES:
        pattern = found.pop()
        close = pattern.find("}")
        opening = pattern.rfind("{", 0, max(close, 0))
        if opening < 0 or close < 0:
            done.append(pattern)
            continue
        parts = pattern[opening + 1 : close].split(",")
        found += [pattern[:opening] + part + pattern[close + 1 :] for part in parts]
    return done


def _one(pattern: str) -> Callable[[str], bool]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if len(parts) < 2:
        parts.insert(0, "**")
    if not _MAGIC & set(parts[-1]):
        parts.append("**")
    matches = [None if part == "**" else compiled(translate(part)).match for part in parts]
    return lambda path: _fits(matches, path.split("/"))


def _fits(parts: Sequence[Callable[[str], object] | None], names: Sequence[str]) -> bool:
    """Whether names match the parts of a pattern, of which ``None`` matches any number of them."""
    at = part = 0
    any_part, taken = -1, 0
    while at < len(names):
        matches = parts[part] if part < len(parts) else bool
        if matches is None:
            any_part, taken = part, at
            part += 1
        elif part < len(parts) and matches(names[at]):
            at, part = at + 1, part + 1
        elif any_part >= 0:  # the last that takes any number takes one more
            taken += 1
            at, part = taken, any_part + 1
        else:
            return False
    return all(matches is None for matches in parts[part:])
