"""The official ``anthropic`` client: its own loop over tools, ``tool_runner``."""

from functools import lru_cache
from importlib import import_module
from inspect import signature
from typing import Any

from benchmarks.proxy_defects.clients.tasks import KEY, MOST_TURNS, GaveUp, Task, serve
from benchmarks.proxy_defects.task import QUESTION, SYSTEM

anthropic: Any = import_module("anthropic")


@lru_cache
def client_of(url: str) -> Any:
    """One client for each server."""
    return anthropic.Anthropic(base_url=url, api_key=KEY)


def unchosen(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the next request: its tools are the model's choice."""
    return {name: value for name, value in parameters.items() if name != "tool_choice"}


def do(task: Task) -> str:
    """Let it run until it ends by itself."""
    client = client_of(task.url)
    tools = [anthropic.beta_tool(task.store.find_part), anthropic.beta_tool(task.store.reserve_part)]
    more = {} if task.choice == "auto" else {"tool_choice": {"type": "any"}}
    # Version 2 leaves the history to the server where it is not told otherwise, and no local server keeps one.
    sends_all = {"thread": False} if "thread" in signature(client.beta.messages.tool_runner).parameters else {}
    runner = client.beta.messages.tool_runner(
        model=task.model, max_tokens=500, system=SYSTEM, tools=tools, max_iterations=MOST_TURNS,
        messages=[{"role": "user", "content": QUESTION}], **more, **sends_all,
    )  # fmt: skip
    last: Any = None
    for last in runner:  # noqa: B007 - the last one is the answer
        if more:
            runner.set_messages_params(unchosen)
    if any(block.type == "tool_use" for block in last.content):
        raise GaveUp
    return "".join(block.text for block in last.content if block.type == "text")


if __name__ == "__main__":
    serve(do)
