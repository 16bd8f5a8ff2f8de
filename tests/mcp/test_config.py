"""What names servers is read as others have it, and what is wrong in it is told in one line."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.mcp import mcp_tools
from micro_agent.mcp.config import Server, servers
from tests.each import each

REFUSED: list[tuple[Any, str]] = [
    ("missing.json", "the MCP servers of missing.json cannot be read: [Errno 2]"),
    ("[1", "cannot be read: Expecting"), ("[1]", "names no MCP servers: write {"), ('{"a": 1}', "names no MCP servers"),
    ({"mcpServers": []}, "mcpServers must name servers"), ({"mcpServers": {"a b": {}}}, "'a b' cannot be the name of"),
    ({"mcpServers": {"a__b": {}}}, "'a__b' cannot be the name of"), ({"mcpServers": {"a_": {}}}, "'a_' cannot be the"),
    ({"command": "x"}, "None cannot be the name of an MCP server"),
    ({"mcpServers": {"a": 1}}, "the MCP server 'a' must be an object with a command or a url"),
    ({"name": "a"}, "needs a command (type stdio) or a url (type http), one of them"),
    ({"name": "a", "command": "x", "url": "http://h"}, "one of them"),
    ({"name": "a", "command": "x", "type": "http"}, "one of them"), ({"name": "a", "type": "sse"}, "is of type sse"),
    ({"name": "a", "command": ["x"]}, "command must be text, and its arguments stand in args"),
    ({"name": "a", "command": "x", "args": "y"}, "args must be a list of texts"),
    ({"name": "a", "command": "x", "args": [1]}, "args must be a list of texts"),
    ({"name": "a", "command": "x", "env": ["A=1"]}, "env must be an object of texts"),
    ({"name": "a", "command": "x", "env": {"A": 1}}, "env must be an object of texts"),
    ({"name": "a", "command": "x", "env": {"A": "${NOT_THERE}"}}, "uses ${NOT_THERE}, and NOT_THERE is not in the"),
    ({"name": "a", "command": "x", "cwd": 1}, "cwd must be text"),
    ({"name": "a", "command": "x", "timeout_s": 0}, "timeout_s must be a number of seconds, above 0"),
    ({"name": "a", "command": "x", "start_timeout_s": True}, "start_timeout_s must be a number of seconds"),
    ({"name": "a", "command": "x", "trust": "yes"}, "trust must be true, false or a list"),
    ({"name": "a", "url": "ftp://h"}, "url must begin with http"), ({"name": "a", "url": 1}, "url must be text"),
    ([{"name": "a", "command": "x"}, {"name": "a", "command": "y"}], "two MCP servers are named 'a'"),
]  # fmt: skip


@each(("given", "told"), REFUSED)
def test_what_is_wrong_is_told(given: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if isinstance(given, str) and not given.endswith(".json"):
        Path("mcp.json").write_text(given)
        given = "mcp.json"
    with pytest.raises(ConfigurationError) as refused:
        servers(given)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ConfigurationError, match=r"mcp is not installed: install the extra, with pip install '\.\[mcp"):
        mcp_tools("mcp.json")


def test_a_file_is_read_as_other_programs_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "t0k")
    told = {
        "files": {"command": "npx", "args": ["-y", "@scope/files", "${FOLDER:-.}"], "env": {"A": "${env:TOKEN}"}},
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "off": {"command": "x", "disabled": True},
        "own": {"type": "stdio", "command": "own", "cwd": "/tmp", "trust": ["read"], "timeout_s": 5, "alwaysAllow": []},
    }  # fmt: skip
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": told}))
    found = servers([tmp_path / "mcp.json", Server(name="more", command=("x",))])
    assert found == [
        Server(name="files", command=("npx", "-y", "@scope/files", "."), env={"A": "t0k"}),
        Server(name="web", url="https://example.com/mcp", headers={"Authorization": "Bearer t0k"}),
        Server(name="own", command=("own",), cwd="/tmp", trust=frozenset({"read"}), timeout_s=5),
        Server(name="more", command=("x",)),
    ]
    assert "t0k" not in repr(found)
