"""The servers that a person names: a file with ``mcpServers``, as other programs have it, or the same as data.

The file is the person's own, as one with ``--tools`` is: what it names is started as it stands there.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from micro_agent.errors import ConfigurationError

# A tool's name begins with it and ``__``, and has 64 characters at most: no tool of another server may have that name.
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9_-]{0,23}[A-Za-z0-9-]")
_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
_HTTP = ("http", "streamable-http", "streamableHttp", "streamable_http")
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: a program that speaks over its standard streams, or a URL.

    Attributes:
        name: What its tools' names begin with.
        command: The program with its arguments; empty where there is a URL.
        env: What stands in its environment beside ``PATH``, ``HOME`` and their like: nothing else of ours does.
        cwd: The folder that it starts in.
        url: Where it listens, by streamable HTTP.
        headers: What goes with each request to it.
        trust: Whether the server's word on its tools counts: ``True``, or the names of tools that run unasked.
        timeout_s: Seconds that one call may take.
        start_timeout_s: Seconds until it must have answered for the first time.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    trust: bool | frozenset[str] = False
    timeout_s: float = 30.0
    start_timeout_s: float = 60.0


Given = str | Path | Mapping[str, Any] | Server
"""A file, the data of one, one server with its ``name``, or one that was read already."""


def servers(given: Given | Sequence[Given]) -> list[Server]:
    """The servers that files or data name.

    Raises:
        ConfigurationError: They cannot be read, or name none; one line says where and why.
    """
    several = [given] if isinstance(given, str | Path | Mapping | Server) else given
    found: dict[str, Server] = {}
    for server in (one for item in several for one in _each(item)):
        if found.setdefault(server.name, server) != server:
            raise ConfigurationError(f"two MCP servers are named {server.name!r}; give one of them another name")
    return list(found.values())


def _each(given: Given) -> Iterator[Server]:
    if isinstance(given, Server):
        yield given
    elif isinstance(given, Mapping) and "mcpServers" not in given:
        yield from _servers({given.get("name"): given}, "mcp")
    elif isinstance(given, Mapping):
        yield from _servers(given["mcpServers"], "mcp")
    else:
        yield from _servers(_read(Path(given).expanduser()), str(given))


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"the MCP servers of {path} cannot be read: {error}") from None
    named = cast("dict[str, Any]", data).get("mcpServers") if isinstance(data, dict) else None
    if not isinstance(named, dict):
        raise ConfigurationError(f'{path} names no MCP servers: write {{"mcpServers": {{"name": {{"command": …}}}}}}')
    return cast("Any", named)


def _servers(named: Any, where: str) -> Iterator[Server]:
    if not isinstance(named, Mapping):
        raise ConfigurationError(f"{where}: mcpServers must name servers, {{name: {{…}}}}")
    for name, told in cast("Mapping[Any, Any]", named).items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            legal = "1 to 24 of the characters A-Z a-z 0-9 _ -, no two _ together and none at the end"
            raise ConfigurationError(f"{where}: {name!r} cannot be the name of an MCP server: use {legal}")
        if not isinstance(told, Mapping):
            raise ConfigurationError(f"{where}: the MCP server {name!r} must be an object with a command or a url")
        known = cast("Mapping[str, Any]", told)
        if known.get("disabled") is not True:
            yield _server(name, known, f"{where}: the MCP server {name!r}")


def _server(name: str, told: Mapping[str, Any], who: str) -> Server:
    kind, command, url = told.get("type"), told.get("command"), told.get("url")
    if kind == "sse":
        raise ConfigurationError(f"{who} is of type sse, which MCP has given up: ask for its streamable HTTP address")
    if (command is None) == (url is None) or kind not in (None, *(("stdio",) if url is None else _HTTP)):
        raise ConfigurationError(f"{who} needs a command (type stdio) or a url (type http), one of them")
    trust = told.get("trust", False)
    if not isinstance(trust, bool):
        trust = frozenset(_texts(trust, f"{who}: trust must be true, false or a list of names of tools"))
    shared: dict[str, Any] = {"name": name, "trust": trust, **_times(told, who)}
    if url is not None:
        address = _filled(_text(url, f"{who}: url must be text"), who)
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigurationError(f"{who}: url must begin with http:// or https://")
        headers = _pairs(told.get("headers"), f"{who}: headers", who)
        return Server(url=address, headers=headers, **shared)
    begun = _text(command, f"{who}: command must be text, and its arguments stand in args")
    args = _texts(told.get("args") or (), f"{who}: args must be a list of texts")
    cwd = told.get("cwd")
    return Server(
        command=tuple(_filled(word, who) for word in (begun, *args)),
        env=_pairs(told.get("env"), f"{who}: env", who),
        cwd=None if cwd is None else _text(cwd, f"{who}: cwd must be text"),
        **shared,
    )


def _times(told: Mapping[str, Any], who: str) -> dict[str, float]:
    found = {name: told[name] for name in ("timeout_s", "start_timeout_s") if name in told}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
            raise ConfigurationError(f"{who}: {name} must be a number of seconds, above 0 and up to 3600")
    return found


def _text(value: object, told: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ConfigurationError(told)
    return value


def _texts(value: object, told: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ConfigurationError(told)
    listed = list(cast("Iterable[object]", value))
    if not all(isinstance(one, str) and "\0" not in one for one in listed):
        raise ConfigurationError(told)
    return cast("list[str]", listed)


def _pairs(value: object, told: str, who: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{told} must be an object of texts")
    known = cast("Mapping[object, object]", value)
    texts = _texts([*known, *known.values()], f"{told} must be an object of texts")
    return {name: _filled(text, who) for name, text in zip(texts, texts[len(known) :], strict=False)}


def _filled(text: str, who: str) -> str:
    """``text`` with variables of the environment in the place of ``${NAME}``, so that no key need stand in a file."""

    def value(found: re.Match[str]) -> str:
        if found["name"] not in os.environ and found["default"] is None:
            raise ConfigurationError(f"{who} uses {found[0]}, and {found['name']} is not in the environment")
        return os.environ.get(found["name"], found["default"])

    return _VARIABLE.sub(value, text)
