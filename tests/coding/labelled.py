"""What the tests of labelled data share: the rows of a file, and the repository in which the paths are judged."""

import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def read_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file here, in JSON lines."""
    return [json.loads(line) for line in (HERE / name).read_bytes().splitlines()]


PATHS = read_rows("paths.jsonl")
FIXTURE: dict[str, dict[str, dict[str, Any]]] = json.loads((HERE / "paths_fixture.json").read_bytes())


def build(where: Path) -> dict[str, str]:
    """Make the fixture's folders; what stands in paths and targets for each."""
    names = {f"{{{part}}}": str(where / part) for part in FIXTURE}
    for part, entries in FIXTURE.items():
        (where / part).mkdir(exist_ok=True)
        for name, entry in entries.items():
            make(where / part / name, entry, names)
    return names


def make(path: Path, entry: dict[str, Any], names: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if "link" in entry:
        path.symlink_to(filled_in(entry["link"], names))
    elif "hardlink" in entry:
        path.hardlink_to(filled_in(entry["hardlink"], names))
    elif "directory" in entry:
        path.mkdir(exist_ok=True)
    elif "fifo" in entry:
        os.mkfifo(path)
    else:
        path.write_bytes(entry.get("text", "").encode())
        os.truncate(path, entry.get("size", path.stat().st_size))
        path.chmod(int(entry.get("mode", "644"), 8))


def filled_in(text: str, names: dict[str, str]) -> str:
    """The text with the folders in the place of their names, as `build` gives them."""
    for name, folder in names.items():
        text = text.replace(name, folder)
    return text
