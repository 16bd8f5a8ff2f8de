"""The official ``anthropic`` client, Messages: the loop of its documentation, whole or by its ``stream`` helper."""

import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

from benchmarks.proxy_defects.clients.tasks import KEY, MOST_TURNS, GaveUp, Task, serve
from benchmarks.proxy_defects.task import QUESTION, SYSTEM, TOOLS

anthropic: Any = import_module("anthropic")
TOLD = [{"name": name, "description": about, "input_schema": schema} for name, about, schema in TOOLS]


@lru_cache
def client_of(url: str) -> Any:
    """One client for each server."""
    return anthropic.Anthropic(base_url=url, api_key=KEY)


def do(task: Task) -> str:
    """Ask, call the tools that the message has, and ask again."""
    client = client_of(task.url)
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    choice = {"type": "auto" if task.choice == "auto" else "any"}
    for _ in range(MOST_TURNS):
        given: Any = {
            "model": task.model, "max_tokens": 500, "system": SYSTEM, "messages": messages, "tools": TOLD,
            "tool_choice": choice,
        }  # fmt: skip
        if "stream" in sys.argv:
            with client.messages.stream(**given) as stream:
                seen = "".join(stream.text_stream)
                message = stream.get_final_message()
        else:
            message = client.messages.create(**given)
            seen = "".join(block.text for block in message.content if block.type == "text")
        choice = {"type": "auto"}
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return seen
        messages.append({"role": "assistant", "content": message.content})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": task.store.do(call.name, call.input)}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
    raise GaveUp


if __name__ == "__main__":
    serve(do)
