"""The official ``openai`` client, Responses: the loop of its documentation, whole or by its ``stream`` helper."""

import json
import sys
from typing import Any

from benchmarks.proxy_defects.clients.openai_chat import client_of
from benchmarks.proxy_defects.clients.tasks import MOST_TURNS, GaveUp, Task, serve
from benchmarks.proxy_defects.task import QUESTION, SYSTEM, TOOLS

TOLD: Any = [
    {"type": "function", "name": name, "description": about, "parameters": schema, "strict": True}
    for name, about, schema in TOOLS
]


def do(task: Task) -> str:
    """Ask, call the tools that the output has, and ask again."""
    client = client_of(task.url)
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    choice: Any = task.choice
    for _ in range(MOST_TURNS):
        given: Any = {
            "model": task.model, "input": items, "tools": TOLD, "tool_choice": choice, "instructions": SYSTEM,
            "store": False,
        }  # fmt: skip
        if "stream" in sys.argv:
            with client.responses.stream(**given) as stream:
                for _event in stream:
                    pass
                response: Any = stream.get_final_response()
        else:
            response = client.responses.create(**given)
        choice = "auto"
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        items += [item.to_dict(mode="json", exclude_unset=True) for item in response.output]
        for call in calls:
            result = task.store.do(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    raise GaveUp


if __name__ == "__main__":
    serve(do)
