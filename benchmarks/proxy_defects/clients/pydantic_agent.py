"""``pydantic-ai``: its agent over OpenAI's Chat Completions or, with ``messages``, Anthropic's wire."""

import asyncio
import sys
from importlib import import_module
from typing import Any

from benchmarks.proxy_defects.clients.tasks import KEY, MOST_TURNS, Task, serve
from benchmarks.proxy_defects.task import QUESTION, SYSTEM

ai: Any = import_module("pydantic_ai")


def model_of(task: Task) -> Any:
    """The model behind one of its two wires."""
    if "messages" in sys.argv:
        provider = import_module("pydantic_ai.providers.anthropic").AnthropicProvider(base_url=task.url, api_key=KEY)
        return import_module("pydantic_ai.models.anthropic").AnthropicModel(task.model, provider=provider)
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=f"{task.url}/v1", api_key=KEY)
    return import_module("pydantic_ai.models.openai").OpenAIChatModel(task.model, provider=provider)


def do(task: Task) -> str:
    """Run the agent until it ends by itself."""
    tools = [task.store.find_part, task.store.reserve_part]
    agent = ai.Agent(model_of(task), system_prompt=SYSTEM, tools=tools)
    limits = ai.UsageLimits(request_limit=MOST_TURNS)
    if "stream" not in sys.argv:
        return agent.run_sync(QUESTION, usage_limits=limits).output

    async def streamed() -> str:
        async with agent.run_stream(QUESTION, usage_limits=limits) as result:
            return await result.get_output()

    return asyncio.run(streamed())


if __name__ == "__main__":
    serve(do)
