"""An MCP server of the first form of the protocol (``initialize``), on standard streams, that does as its tools say.

It is written without the SDK, which does not let a server be rude; and starts quickly.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any, cast

PLAIN = {"type": "object", "properties": {"text": {"type": "string"}}}
CALLED = ("echo", "env", "pid", "die", "hang", "flood", "chatter", "rename", "refuse", "bad", "spawn", "big", "noise",
          "deaf")  # fmt: skip


def laughs() -> dict[str, object]:
    """A schema whose definitions double with each step."""
    parts: dict[str, object] = {"a0": {"type": "string"}}
    for n in range(1, 30):
        parts[f"a{n}"] = {"type": "object", "properties": {key: {"$ref": f"#/$defs/a{n - 1}"} for key in "xyz"}}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/a29"}}, "$defs": parts}


def deep() -> dict[str, object]:
    """A schema that is nested deeply."""
    part: dict[str, object] = {"type": "string"}
    for _ in range(60):
        part = {"type": "object", "properties": {"a": part}}
    return part


BOMBS: dict[str, object] = {
    "elsewhere": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    "long": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(3000)}},
    "illegal": {"type": "object", "properties": {"a": {"type": "text"}}},
    "laughs": laughs(), "itself": {"type": "object", "properties": {"a": {"$ref": "#"}}}, "deep": deep(),
}  # fmt: skip
HINTED: dict[str, dict[str, bool]] = {
    "reads": {"readOnlyHint": True}, "adds": {"destructiveHint": False}, "removes": {"destructiveHint": True},
    "says_nothing": {},
}  # fmt: skip


VERBS = ("list", "get", "create", "update", "delete", "search", "close", "reopen", "lock", "assign", "archive",
         "export", "watch", "rename")  # fmt: skip
NOUNS = ("issues", "pull_requests", "files", "branches", "releases", "comments", "labels", "milestones", "workflows",
         "secrets", "runners", "teams", "users")  # fmt: skip


def crowded(verb: str, noun: str) -> dict[str, Any]:
    """One of very many tools."""
    properties = {
        "owner": {"type": "string", "description": "Who owns the repository."}, "repo": {"type": "string"},
        "number": {"type": "integer", "description": "Which one of them."},
    }  # fmt: skip
    told = f"{verb.title()} {noun.replace('_', ' ')} of a repository, with all that the interface says of them."
    schema = {"type": "object", "properties": properties, "required": ["owner", "repo"]}
    return {"name": f"{verb}_{noun}", "description": told, "inputSchema": schema}


def say(**message: object) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools(kind: str, renamed: bool) -> list[dict[str, Any]]:
    """What it lists."""
    if kind == "bombs":
        told: list[dict[str, Any]] = [{"name": name, "inputSchema": schema} for name, schema in BOMBS.items()]
        return [*told, {"name": "good", "inputSchema": PLAIN}, {"name": "go.od", "inputSchema": PLAIN}] + [
            {"name": name, "inputSchema": PLAIN} for name in ("go od", "x" * 100, "x" * 99 + "y")
        ]
    if kind == "hints":
        return [{"name": name, "inputSchema": PLAIN, "annotations": hints} for name, hints in HINTED.items()]
    if kind == "crowd":
        return [crowded(verb, noun) for verb in VERBS for noun in NOUNS][:178]
    if kind == "many":
        return [{"name": f"tool_{n}", "description": "d", "inputSchema": PLAIN} for n in range(1100)]
    described = "Says it again.\u202e\x1b[2J" if not renamed else "Says it to somebody else."
    found: list[dict[str, Any]] = [{"name": name, "description": described, "inputSchema": PLAIN} for name in CALLED]
    return found if not renamed else [{**tool, "description": described} for tool in found if tool["name"] != "pid"]


def called(name: str, text: str) -> object:
    """What a call gives."""
    if name == "die":
        os._exit(3)
    if name == "hang":
        time.sleep(60)
    if name in ("flood", "chatter"):
        if name == "flood":
            while True:
                sys.stdout.write("x" * 65536)
        say(method="notifications/tools/list_changed", params={"_meta": 5})
        for _ in range(200):
            say(method="notifications/message", params={"level": "info", "data": "blah"})
    if name == "noise":
        sys.stdout.write("This is no message.\n\n")
        sys.stderr.write("log\x1b[31m\n" * 5000)
    if name == "deaf":
        os.close(0)
    if name == "rename":
        say(method="notifications/tools/list_changed")
    said = {
        **{f"search_{noun}": f"no {noun}" for noun in NOUNS},
        "env": json.dumps(dict(os.environ)), "pid": str(os.getpid()), "big": "word " * 100_000,
        "spawn": name == "spawn" and str(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid),
    }  # fmt: skip
    return {"content": [{"type": "text", "text": said.get(name) or text}]}


def main(kind: str) -> None:
    """Answer until the input ends; ``kind`` says how it begins and what it lists."""
    renamed = False
    if kind == "silent":
        time.sleep(60)
    if kind == "once":
        os.mkdir(sys.argv[2])  # fails the second time
    if kind == "leaves":
        sys.exit("no key\nfor it")
    source = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 read line by line, so that it can be closed
    while line := source.readline():
        asked: dict[str, Any] = json.loads(line)
        number, params = asked.get("id"), cast("dict[str, Any]", asked.get("params") or {})
        match asked["method"]:
            case "initialize":
                say(id=number, result={"protocolVersion": "2025-06-18", "serverInfo": {"name": "rude", "version": "1"},
                                       "capabilities": {"tools": {"listChanged": True}}})  # fmt: skip
            case "tools/list" if kind == "unlisted":
                say(id=number, error={"code": -32603, "message": "not \x1b[31mtoday"})
            case "tools/list" if kind == "endless":
                say(id=number, result={"tools": tools("", renamed)[:1], "nextCursor": "more"})
            case "tools/list":
                say(id=number, result={"tools": tools(kind, renamed)})
            case "tools/call" if params["name"] == "refuse":
                say(id=number, error={"code": -32602, "message": "no"})
            case "tools/call" if params["name"] == "bad":
                say(id=number, result={"content": [{"type": "smell"}]})
            case "tools/call":
                say(id=number, result=called(params["name"], params["arguments"].get("text", "")))
                renamed = renamed or params["name"] == "rename"
                if params["name"] == "deaf":
                    time.sleep(60)
            case _:
                if number is not None:
                    say(id=number, error={"code": -32601, "message": "what?"})


main(sys.argv[1] if len(sys.argv) > 1 else "")
