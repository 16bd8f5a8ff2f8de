"""What decides something lies outside the repository that a model works on, since the model can write in there."""

import os
from pathlib import Path

from micro_agent.errors import ConfigurationError


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a path is in a folder: as it stands, by one of the links on its way, or where these lead."""
    top, whole = folder.resolve(), Path(os.path.abspath(path))
    ways = [whole, *whole.parents]
    places = [*ways, *(way.resolve() for way in ways), path.resolve()]
    return any(place == top or top in place.parents for place in places)


def refuse_inside(folder: Path, path: Path, what: str) -> None:
    """Refuse a path in the repository ``folder``.

    Args:
        folder: The repository that a model works on.
        path: What is to be read or written.
        what: How it is called in the error, with the option or variable that names it.

    Raises:
        ConfigurationError: It is in there.
    """
    if is_inside(folder, path):
        told = f"{what} is {str(path)!r}, which is inside the repository {folder}"
        raise ConfigurationError(f"{told}, where the model can write: name a place outside it")
