"""The official ``openai`` client, Chat Completions streamed, by its own ``stream`` helper."""

import json
from typing import Any

from benchmarks.proxy_defects.clients.openai_chat import TOLD, client_of
from benchmarks.proxy_defects.clients.tasks import MOST_TURNS, GaveUp, Task, serve
from benchmarks.proxy_defects.task import QUESTION, SYSTEM


def do(task: Task) -> str:
    """Ask, go through the events, call the tools that the helper put together, and ask again."""
    client = client_of(task.url)
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    choice: Any = task.choice
    for _ in range(MOST_TURNS):
        seen = ""
        with client.chat.completions.stream(
            model=task.model, messages=messages, tools=TOLD, tool_choice=choice, stream_options={"include_usage": True}
        ) as stream:
            for event in stream:
                if event.type == "content.delta":
                    seen += event.delta
            message: Any = stream.get_final_completion().choices[0].message
        choice = "auto"
        assert seen == (message.content or ""), "what was shown is not what the message says"
        if not message.tool_calls:
            return seen
        messages.append(message.to_dict(mode="json") if hasattr(message, "to_dict") else message)
        for call in message.tool_calls:
            result = task.store.do(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    raise GaveUp


if __name__ == "__main__":
    serve(do)
