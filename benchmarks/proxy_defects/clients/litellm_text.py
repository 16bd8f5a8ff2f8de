"""``litellm``, through which aider speaks to servers: words without tools, whole or, with ``stream``, streamed."""

import sys
from importlib import import_module
from typing import Any

from benchmarks.proxy_defects.clients.tasks import KEY, Task, serve

litellm: Any = import_module("litellm")


def do(task: Task) -> str:
    """Ask once, for words."""
    streamed = "stream" in sys.argv
    answer = litellm.completion(
        f"openai/{task.model}", [{"role": "user", "content": "Triple the price."}], api_base=f"{task.url}/v1",
        api_key=KEY, stream=streamed,
    )  # fmt: skip
    if streamed:
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    return answer.choices[0].message.content


if __name__ == "__main__":
    serve(do)
