"""Which file of the repository the headers of a diff mean.

What `git diff` prints, ``a/PATH`` and ``b/PATH``, is taken as it is. Any other spelling is taken only where exactly one
file of the repository can be meant. A path is never looked up as text: `paths.resolve` says what is there.
"""

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from micro_agent.coding.patches.faults import PatchError, misfit, missing, refused
from micro_agent.coding.patches.sections import Section
from micro_agent.coding.paths import PathForbidden, resolve

_PAIRS = {("a", "b"), ("i", "w"), ("c", "w"), ("c", "i"), ("o", "w"), ("old", "new")}
"""Prefixes that git writes, with ``diff.mnemonicPrefix`` too, and the one that others write."""
_NULL = "/dev/null"
_OCTAL = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_TIME = re.compile(r"\s+\(?\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|\s+\((?:original|modified|old|new|before|after|updated)\)\s*")
_DECORATIONS = "`'\"*"
_LONGEST_DECORATED = 1_000
_EXPANDED = re.compile(r"~[^/]*/|\$\{?\w+\}?/|%\w+%/")
_MOST_LOOKED_AT = 50_000
_LONGEST = 20_000
"""Characters of a name in git's quotes, which writes four for each byte."""
_MODES = {"100644", "100755"}


@dataclass(frozen=True, slots=True)
class Target:
    """Which file is changed how.

    Attributes:
        kind: What is done with it.
        old: Its path before, from the root; ``None`` for a new file.
        new: Its path afterwards; ``None`` for one that goes.
        mode: The mode of a new file, 0o644 or 0o755.
        repaired: What was repaired in the headers.
    """

    kind: str
    old: str | None
    new: str | None
    mode: int = 0o644
    repaired: tuple[str, ...] = ()


def target_of(root: Path, section: Section) -> Target:
    """Which file a part of a diff is about.

    Raises:
        PatchError: The headers disagree, name no file that is there, or ask for what a patch does not do.
    """
    _check_extended(section)
    if "rename from" in section.extended or "rename to" in section.extended:
        return _renamed(root, section)
    old, new, repaired = _both(section)
    says_new, says_gone = "new file mode" in section.extended, "deleted file mode" in section.extended
    if _is_null(old) and _is_null(new):
        raise refused(f"line {section.at} of the diff: nothing becomes nothing; name the file")
    if _is_null(old) or (says_new and _is_missing(root, old, new)):
        return _made(root, section, new, repaired)
    if says_new:
        raise refused(f"{new:.200} is said to be new and to have been there")
    if _is_null(new) or says_gone:
        path, how = _existing(root, section, *_of_deleted(section, old))
        return Target("deleted", path, None, repaired=(*repaired, *how))
    path, how = _existing(root, section, old, new)
    if _was(root, path) is None:
        return Target("made", None, path, repaired=(*repaired, *how, "file header"))
    return Target("edited", path, path, repaired=(*repaired, *how))


def _check_extended(section: Section) -> None:
    """What only git's own headers say."""
    extended = section.extended
    if "copy from" in extended or "copy to" in extended:
        raise refused("a patch does not copy files: make the new file with all its lines")
    if "old mode" in extended or "new mode" in extended:
        raise refused("a patch does not change the mode of a file")
    index = extended.get("index", "").rpartition(" ")
    modes = [extended.get("new file mode"), extended.get("deleted file mode"), index[2] if index[0] else None]
    for mode in modes:
        if mode is not None and mode.strip() not in _MODES:
            raise refused(f"the mode {mode:.20} is not that of an ordinary file; links and submodules are not made")
    if "new file mode" in extended and "deleted file mode" in extended:
        raise refused("a file is said to be new and to be deleted")


def _both(section: Section) -> tuple[str, str, list[str]]:
    """Both names, however many of the headers are there."""
    repaired: list[str] = []
    old, new = section.old, section.new
    if old is None and new is None:
        old, new = _git_names(section.git or "")
        if section.hunks:
            repaired.append("file header")
        if "new file mode" in section.extended:
            old = _NULL
        elif "deleted file mode" in section.extended:
            new = _NULL
        return old, new, repaired
    if old is None or new is None:
        repaired.append("file header")
        alone = _read(old or new or "")
        first, _, rest = alone.partition("/")
        pair = next((pair for pair in _PAIRS if first in pair), None)
        if pair is None or not rest:
            return alone, alone, repaired
        return f"{pair[0]}/{rest}", f"{pair[1]}/{rest}", repaired
    old, new = _read(old), _read(new)
    if old.lstrip("ab/") == "dev/null" and old != _NULL and not _is_null(new):
        old, repaired = _NULL, ["file header"]
    if section.git is not None:
        _check_agreement(section.git, old, new)
    return old, new, repaired


def _check_agreement(git: str, old: str, new: str) -> None:
    """The line of git's own names the same files as the two below it."""
    names = [name for name in (old, new) if not _is_null(name)]
    rests = {_rest(name) for name in names} | set(names)
    for first, second in _splits(git):
        said = {_rest(first), first} & rests and {_rest(second), second} & rests
        if said:
            return
    raise refused(f"`diff --git {git:.200}` names other files than the lines below it")


def _git_names(git: str) -> tuple[str, str]:
    for first, second in _splits(git):
        if first == second or (_rest(first) == _rest(second) and _rest(first)):
            return first, second
    raise refused(f"`diff --git {git:.200}` names two files, and no rename is said")


def _splits(git: str) -> list[tuple[str, str]]:
    """The pairs of names that the rest of git's line may be: blanks in names make several."""
    if len(git) > 2 * _LONGEST:
        raise refused("a file name is too long")
    if git.startswith('"') or git.endswith('"'):
        found = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S.*?) ("(?:[^"\\]|\\.)*"|.+)', git.rstrip())
        return [(_read(found[1]), _read(found[2]))] if found else []
    words = git.rstrip().split(" ")[:200]
    return [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]


def _rest(name: str) -> str:
    """A name without its first folder."""
    return name.partition("/")[2]


def _read(name: str) -> str:
    """A name as it is meant, without a time behind a tab and out of git's quotes.

    Raises:
        PatchError: It is no name that a file has.
    """
    name = name.rstrip("\r")
    if len(name) > _LONGEST:
        raise refused("a file name is too long")
    if name.startswith('"') and (found := re.fullmatch(r'"((?:[^"\\]|\\.)*)"\s*', name.partition("\t")[0])):
        raw = _OCTAL.sub(_unescaped, found[1].encode("utf-8", "surrogatepass"))
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            raise refused("a file name is not UTF-8") from None
    else:
        name = name.partition("\t")[0]
    if bad := next(
        (sign for sign in name.replace("\t", "") if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")), None
    ):
        raise refused(f"a file name holds {bad!a}, which no name needs")
    return name if name.strip() else ""


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)]) if len(found[1]) > 1 else _ESCAPES.get(found[1], found[1])


def _is_null(name: str) -> bool:
    return name.rstrip() == _NULL


def _check_plain(name: str) -> None:
    """A name goes down from the root by its folders, and by nothing else."""
    if name.startswith("/") or _EXPANDED.match(name):
        raise refused(f"{name!r:.200} does not begin at the root of the repository")
    parts = name.split("/")
    if "" in parts or "." in parts or ".." in parts:
        raise refused(f"{name!r:.200} is not a plain path: write it from the root of the repository, without dots")


def _was(root: Path, path: str) -> object | None:
    """What is at this path; ``None`` if nothing is. Raises `PatchError` for a path that is closed."""
    try:
        with resolve(root, path, "write") as place:
            return place.was
    except (PathForbidden, OSError) as error:
        raise refused(str(error)) from error


def _is_missing(root: Path, old: str, new: str) -> bool:
    """Whether a file that is called new, and has an old name, is indeed not there."""
    return (_rest(old) or old) == (_rest(new) or new) and _was(root, _rest(new) or new) is None


def _made(root: Path, section: Section, new: str, repaired: list[str]) -> Target:
    first, _, rest = new.partition("/")
    mnemonic = section.git is not None and any(
        (one.partition("/")[0], other.partition("/")[0]) in _PAIRS and _rest(one) == _rest(other) == rest
        for one, other in _splits(section.git)
    )
    if rest and (first == "b" or mnemonic):
        path = rest
    else:
        path, repaired = new.removeprefix("./"), [*repaired, "prefix"]
        if rest and first == "a" and _was(root, f"{first}/{rest}") is None and not (root / "a").is_dir():
            path = rest
    path = _undecorated(path)
    _check_plain(path)
    if "\\" in path:
        _was(root, path)
        raise refused(f"{path!r:.200} holds a backslash: put / between folders")
    if any(unicodedata.category(sign) == "Cf" for sign in path):
        raise refused(f"{path!a:.200} holds a sign that does not show")
    if _was(root, path) is not None:
        raise misfit(f"{path} is said to be new and is there: show the lines of it that change", path)
    mode = 0o755 if section.extended.get("new file mode", "").strip() == "100755" else 0o644
    return Target("made", None, path, mode, tuple(repaired))


def _undecorated(name: str) -> str:
    """A name without quotes, backticks, a time or a remark around it."""
    if len(name) > _LONGEST_DECORATED:
        return name
    name = _TIME.sub("", name).strip()
    while len(name) > 2 and name[0] == name[-1] and name[0] in _DECORATIONS:
        name = name[1:-1]
    return name


def _existing(root: Path, section: Section, old: str, new: str) -> tuple[str, tuple[str, ...]]:
    """The one file that both names mean; where none is there and all lines are added, the one that is to be made."""
    first = _candidates(old, new)
    if not first:
        first = _candidates(_undecorated(old), _undecorated(new))
    elif all(_quiet(root, path) is None for path, _ in first):
        first = first[:1] + [(path, "prefix") for path, _ in _candidates(_undecorated(old), _undecorated(new))]
        first += [(path.replace("\\", "/"), "prefix") for path, _ in first if "\\" in path]
    if not first:
        raise refused(f"{old:.200} would become {new:.200}: a move has to be said by `rename from` and `rename to`")
    path, how = first[0]
    _check_plain(path)
    there = _was(root, path)
    if not how and there is not None:
        return path, ()
    found = dict.fromkeys(path for path, _ in first if _quiet(root, path) is not None)
    if len(found) > 1:
        raise misfit(f"{old:.200} may be {' or '.join(found)}: write the path from the root behind a/ and b/")
    if found:
        return next(iter(found)), ("prefix",)
    only_adds = all(line.startswith(("+", "\\ ")) or not line.strip() for hunk in section.hunks for line in hunk.lines)
    if only_adds and section.hunks and section.hunks[0].old in ((0, 0), None):
        made = _made(root, Section(section.at, new=f"b/{path}"), f"b/{path}", [])
        return str(made.new), ("prefix",) if how else ()
    ending = _with_ending(root, path) if section.new is not None and not _is_null(section.new) else None
    if ending is not None:
        return ending, ("prefix",)
    raise missing(f"there is no file {path}: name one that is there, or begin with `--- /dev/null` to make it", path)


def _with_ending(root: Path, path: str) -> str | None:
    """The one file of the repository whose path ends with this one; ``None`` for none, several, or a large one."""
    found: list[str] = []
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        seen += len(names) + len(folders)
        if seen > _MOST_LOOKED_AT:
            return None
        below = os.path.relpath(folder, root)
        name = path.rpartition("/")[2]
        if name in names and f"/{below}/{name}".endswith(f"/{path}"):
            found.append(f"{below}/{name}".removeprefix("./"))
    return found[0] if len(found) == 1 and _quiet(root, found[0]) is not None else None


def _of_deleted(section: Section, old: str) -> tuple[str, str]:
    """The name of a file that goes, and what it would be called on the other side."""
    if section.git is not None:
        return _git_names(section.git)
    return (old, f"b/{_rest(old)}") if old.startswith("a/") else (old, old)


def _quiet(root: Path, path: str) -> object | None:
    """As `_was`; a path that is closed is not there."""
    try:
        _check_plain(path)
        return _was(root, path)
    except PatchError:
        return None


def _candidates(old: str, new: str) -> list[tuple[str, str]]:
    """The paths that both names may mean, each with what would be repaired: the likeliest first."""
    firsts, rests = (old.partition("/")[0], new.partition("/")[0]), (_rest(old), _rest(new))
    found: list[tuple[str, str]] = []
    if rests[0] and rests[0] == rests[1] and (firsts[0] != firsts[1] or firsts[0] == "."):
        found.append((rests[0], "" if firsts in _PAIRS or firsts[0] == "." else "prefix"))
    elif old == new:
        found.append((old, "prefix"))
    elif firsts[0] == "a" and rests[0] == new:
        found.append((new, "prefix"))
    elif firsts[1] == "b" and rests[1] == old:
        found.append((old, "prefix"))
    if found:
        shorter = _rest(found[0][0])
        found += [(shorter, "prefix")] if shorter else []
        if old == new and _rest(shorter):
            found.append((_rest(shorter), "prefix"))
    return found


def _renamed(root: Path, section: Section) -> Target:
    """A move that git's headers say, and that no other header contradicts."""
    extended = section.extended
    old, new = _read(extended.get("rename from", "")), _read(extended.get("rename to", ""))
    if not old or not new or old == new:
        raise refused("a rename needs `rename from` and `rename to` with two names")
    for said, name in ((section.old, old), (section.new, new)):
        if said is not None and name not in (_read(said), _rest(_read(said))):
            raise refused(f"the rename says {name:.200} and the header {said:.200}")
    if section.git is not None and not any(
        old in (one, _rest(one)) and new in (other, _rest(other)) for one, other in _splits(section.git)
    ):
        raise refused(f"`diff --git {section.git:.200}` names other files than the rename below it")
    if "new file mode" in extended or "deleted file mode" in extended:
        raise refused("a file is said to be renamed and to be new or deleted")
    for name in (old, new):
        _check_plain(name)
    if _was(root, old) is None:
        raise missing(f"there is no file {old} to rename", old)
    if _was(root, new) is not None:
        raise misfit(f"{new} is there already: nothing is renamed over it", new)
    return Target("renamed", old, new)
