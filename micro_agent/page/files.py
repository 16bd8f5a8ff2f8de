"""The files of the page: modules, style, picture, and the libraries that are kept with it (vendor/versions.json)."""

from functools import cache
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_FOLDERS = ("modules", "vendor")


@cache
def files() -> dict[str, tuple[str, bytes]]:
    """Each file by the name under which it is served, with its media type. All of them lie in one folder there."""
    found = [HERE / "page.css", HERE / "icon.svg"]
    for folder in _FOLDERS:
        found += sorted((HERE / folder).glob("*.js"))
    return {path.name: (TYPES[path.suffix], path.read_bytes()) for path in found}


@cache
def version() -> str:
    """What changes with any of the files: it stands in their addresses, so that a browser can keep them for good."""
    digest = sha256()
    for name, (_, data) in sorted(files().items()):
        digest.update(f"{name} {len(data)} ".encode() + data)
    return digest.hexdigest()[:16]


def modules() -> dict[str, str]:
    """The text of each module by its name."""
    return {name: data.decode() for name, (media, data) in files().items() if media == TYPES[".js"]}
