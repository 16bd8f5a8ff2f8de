"""What of its results reaches a model whose context is short, and how often the prompt is cut for it.

The model is scripted, on a server that drops what does not fit, as Ollama does. The tokens that it counts are about as
many as those of a real vocabulary, and it counts no response schema. First: what is shown of a first result of 3,030
characters, with 14 tools like those of a coding agent at ``num_ctx`` 8,192. Then: 40 small tools. Then: 60 results of
4 KB each, which cannot all be shown.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.models.settings import Settings
from micro_agent.run import CONTEXT_TRIMMED, Mode
from micro_agent.testing import ModelServer, Received, Reply, Script, call, decision, final, text
from micro_agent.testing.truncation import prompt_tokens

ARGS = ("what", "where", "how")
MODES: tuple[Mode, ...] = ("native", "json")
LONG = ("The committee met again, and the results were discussed at length. " * 46)[:3030]
PAGE = ("A page of a report, with 42 figures in it, and some words. " * 70)[:4096]
CODING: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("Read a text file.", {"path": "Path below the project.", "first": "First line.", "last": "Last."}),
    "write_file": ("Write a file, and make its folders.", {"path": "Path below the project.", "content": "All of it."}),
    "edit_file": ("Replace a text that occurs once.", {"path": "The file.", "old": "What is there.", "new": "New."}),
    "list_files": ("List a folder.", {"path": "The folder.", "pattern": "Glob of names.", "depth": "Levels below it."}),
    "search": ("Search all files.", {"pattern": "Regular expression.", "path": "Where.", "context": "Lines around."}),
    "run_tests": ("Run the tests.", {"select": "Expression for names.", "path": "A file.", "timeout_s": "Seconds."}),
    "run_command": ("Run a program.", {"command": "With its arguments.", "folder": "Where.", "timeout_s": "Seconds."}),
    "git_diff": ("What has changed.", {"base": "Commit to compare with.", "path": "Only there.", "context": "Lines."}),
    "git_log": ("The latest commits.", {"count": "How many.", "path": "Only those of a file.", "author": "By whom."}),
    "git_commit": ("Commit what is staged.", {"message": "Imperative sentence.", "paths": "What to stage before."}),
    "fetch_page": ("Fetch a page as text.", {"address": "With https.", "first": "From where.", "most": "How many."}),
    "ask_database": ("Run a query.", {"query": "SQL that reads.", "database": "Which.", "most": "Rows at most."}),
    "remember": ("Keep a note for later.", {"title": "A few words.", "content": "The note.", "tags": "With commas."}),
    "recall": ("Find notes.", {"query": "Words of it.", "tags": "With commas.", "most": "How many notes."}),
}


def saying(result: str) -> Callable[..., str]:
    """What gives ``result``, whatever it is asked."""

    def say(**given: str) -> str:
        return result

    return say


def tool_of(name: str, description: str, args: dict[str, str], result: str) -> Tool:
    """A tool whose arguments are texts."""
    properties = {name: {"type": "string", "description": told} for name, told in args.items()}
    schema = {"type": "object", "properties": properties, "required": [*args][:1], "additionalProperties": False}
    return Tool(name, description, schema, saying(result), read_only=True)


def coding_tools(result: str = LONG) -> list[Tool]:
    """14 tools, each of which gives ``result``."""
    return [tool_of(name, told, args, result) for name, (told, args) in CODING.items()]


def small_tools(count: int, result: str = "Done.") -> list[Tool]:
    """So many tools with a one-line description and three text arguments each."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in ARGS}}
    schema |= {"required": [*schema["properties"]], "additionalProperties": False}
    return [Tool(f"tool_{n}", f"Do the thing number {n}.", schema, saying(result)) for n in range(count)]


def asked(name: str, args: dict[str, Any], mode: Mode) -> Reply:
    """A call in either mode."""
    return call(name, args) if mode == "native" else decision(name, args)


def script(mode: Mode, name: str, args: Sequence[str], steps: int) -> list[Reply]:
    """So many calls, and an answer."""
    calls = [asked(name, dict.fromkeys(args, f"number {n}"), mode) for n in range(steps)]
    return [*calls, text("Done.") if mode == "native" else final("Done.")]


def ran(
    tools: list[Tool], replies: Script, mode: Mode, max_steps: int, num_ctx: int = 8192
) -> tuple[Run, list[Received], int]:
    """The run, its requests, and how many of them were cut by the server."""
    with ModelServer(replies, truncate=True) as server:
        lm = configure_lm("ollama", "scripted", server.url, settings=Settings(ollama_num_ctx=num_ctx), fallback=False)
        agent = MicroAgent(tools, lm, mode, [], Limits(max_steps=max_steps))
        return agent.ask("What does the report say?"), server.chats, len(server.truncated)


def shown_of(chats: list[Received], result: str) -> int:
    """How many characters of ``result`` the last request shows."""
    last = str(chats[-1].messages[-1]["content"])
    head = next(n for n in range(len(result), -1, -1) if result[:n] in last)
    tail = next(n for n in range(len(result) - head, -1, -1) if last.endswith(result[len(result) - n :]))
    return head + tail


def whole(chats: list[Received], is_result: Callable[[str], bool]) -> int:
    """How many requests end with a result that is whole, or with one and a note."""
    return sum(any(is_result(str(one["content"])) for one in chat.messages[-2:]) for chat in chats)


def breaks(chats: list[Received]) -> int:
    """How many requests do not begin with the one before."""
    return sum(after.messages[: len(before.messages)] != before.messages for before, after in pairwise(chats))


def main() -> None:
    """Print the three tables."""
    print("characters shown of a first result of 3030: 14 tools, num_ctx 8192")
    for mode in MODES:
        for steps in (6, 25):
            run, chats, _ = ran(coding_tools(), script(mode, "read_file", ["path"], 1), mode, steps)
            shown = shown_of(chats, LONG) if len(chats) > 1 else f"none, {len(chats)} requests: {run.error}"
            counted = prompt_tokens(chats[0].messages, (chats[0].body or {}).get("tools")) if chats else None
            estimated = run.calls[0].request["tokens"] if run.calls else None
            print(f"  {mode:7}{steps:3} steps: {shown} (first request estimated at {estimated}, counted {counted})")
    print("small tools at num_ctx 8192: requests sent")
    for mode in MODES:
        for count in (16, 40):
            run, chats, cut = ran(small_tools(count), script(mode, "tool_1", ARGS, 1), mode, 6)
            sent = sum(len(str(one["content"])) for one in chats[0].messages) if chats else None
            ended = f"{len(chats)} requests, {run.termination_reason}"
            print(f"  {mode:7}{count:3} tools: {ended}, {sent} characters, {cut} cut")
    print("60 results of 4 KB: trims, results whole when they came, requests cut by the server")
    for mode in MODES:
        for num_ctx in (8192, 4096):
            for steps in (61, 25, 6):
                tool = tool_of("read", "Read a page.", {"page": "Its number."}, PAGE)
                run, chats, cut = ran([tool], script(mode, "read", ["page"], steps - 1), mode, steps, num_ctx)
                trims = sum(step.tool == CONTEXT_TRIMMED for step in run.steps)
                full = whole(chats, lambda said: PAGE in said)
                print(f"  {mode:7}{num_ctx:6}{steps:4} steps: {trims} trims, {full} whole, {cut} cut, {run.status}")


if __name__ == "__main__":
    main()
