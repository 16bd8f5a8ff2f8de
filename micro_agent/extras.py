"""The extras of the package: what is missing of one, and how it is installed."""

from importlib.util import find_spec

from micro_agent.errors import ConfigurationError


def need(extra: str, *packages: str, instead: str = "") -> None:
    """Refuse to go on without packages of an extra. None of them is imported.

    Args:
        extra: Its name in ``pyproject.toml``.
        packages: By the names that are imported.
        instead: What else a person can do, where there is something: ``pipe the questions in``.

    Raises:
        ConfigurationError: One is not installed; the message says how to install it.
    """
    for package in packages:
        if not is_installed(package):
            told = f"{package} is not installed: {how_to_install(extra)}"
            raise ConfigurationError(f"{told}, or {instead}" if instead else told)


def how_to_install(extra: str) -> str:
    """What to do, to stand behind what is wrong."""
    return f"install the extra, with pip install '.[{extra}]' in a checkout of micro-agent"


def is_installed(package: str) -> bool:
    """Whether a package can be imported. Those around it are imported for that, it is not."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # one around it is missing
        return False
