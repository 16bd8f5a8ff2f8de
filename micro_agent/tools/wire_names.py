"""Names without dots, for servers that refuse a tool whose name has one.

Source: OpenAI's API takes names of the pattern ``^[a-zA-Z0-9_-]+$``, up to 64 characters; the name of a `Tool` may
have dots as well.
"""

from collections.abc import Iterable

_MAX_CHARS = 64


def undotted(names: Iterable[str]) -> dict[str, str]:
    """For each name with a dot, one without; two names never get the same.

    ``files.read`` becomes ``files_read``, or ``files_read_2`` where that is another tool's name.
    """
    known = list(names)
    taken = {name for name in known if "." not in name}
    given: dict[str, str] = {}
    for name in known:
        if "." in name:
            given[name] = _free(name.replace(".", "_"), taken)
            taken.add(given[name])
    return given


def _free(wanted: str, taken: set[str]) -> str:
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted[: _MAX_CHARS - len(str(number)) - 1]}_{number}"
    return name
