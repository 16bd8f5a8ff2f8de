"""What decides something lies outside the repository that a model works on, since the model can write in there."""

from pathlib import Path

from micro_agent.errors import ConfigurationError


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a path is in a folder: as it stands, by one of the links on its way, or where these lead."""
    top = folder.resolve()
    whole = Path.cwd() / path
    ways = [whole, *whole.parents]
    return any(place == top or top in place.parents for way in ways for place in (way, way.resolve()))


def refuse_inside(folder: Path | None, path: Path, what: str) -> None:
    """Refuse a path in the repository ``folder``; nothing is refused where there is none.

    Args:
        folder: The repository that a model works on.
        path: What is to be read or written.
        what: How it is called in the error, with the option or variable that names it.

    Raises:
        ConfigurationError: It is in there.
    """
    if folder is not None and is_inside(folder, path):
        told = f"{what} is {str(path)!r}, which is inside the repository {folder}"
        raise ConfigurationError(f"{told}, where the model can write: name a place outside it")
