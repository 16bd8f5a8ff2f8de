"""The official ``openai`` client, Chat Completions: the loop of its documentation, whole."""

import json
from functools import lru_cache
from importlib import import_module
from typing import Any

from benchmarks.proxy_defects.clients.tasks import KEY, MOST_TURNS, GaveUp, Task, serve
from benchmarks.proxy_defects.task import QUESTION, SYSTEM, TOOLS

openai: Any = import_module("openai")
TOLD: Any = [
    {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}
    for name, about, schema in TOOLS
]


@lru_cache
def client_of(url: str) -> Any:
    """One client for each server."""
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY)


def do(task: Task) -> str:
    """Ask, call the tools that the message has, and ask again."""
    client = client_of(task.url)
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    choice: Any = task.choice
    for _ in range(MOST_TURNS):
        message: Any = (
            client.chat.completions.create(model=task.model, messages=messages, tools=TOLD, tool_choice=choice)
            .choices[0]
            .message
        )
        choice = "auto"
        if not message.tool_calls:
            return message.content or ""
        messages.append(message)
        for call in message.tool_calls:
            result = task.store.do(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    raise GaveUp


if __name__ == "__main__":
    serve(do)
