"""What an asynchronous tool gave, waited for: the value of an awaitable, the items of an asynchronous generator."""

import inspect
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from types import GeneratorType
from typing import Any, cast

from micro_agent.tools.jsonable import MAX_NODES, MAX_TEXT


def is_pending(result: object) -> bool:
    """Whether it is to be waited for, told by its class: a result may be anything, and answer for itself in any way."""
    kind = type(result)
    return issubclass(kind, Awaitable | AsyncIterator) or (kind is GeneratorType and inspect.isawaitable(result))


async def settled(result: Any) -> Any:
    """What comes of it in the end; of an asynchronous generator a list of as many items as can be shown."""
    if not issubclass(type(result), AsyncIterator):
        result = await result
    return await _listed(result) if issubclass(type(result), AsyncIterator) else result


async def _listed(items: AsyncIterator[Any]) -> list[Any]:
    found: list[Any] = []
    text = 0
    async with AsyncExitStack() as stack:
        if inspect.isasyncgen(items):
            stack.push_async_callback(items.aclose)
        async for item in items:
            found.append(item)
            text += len(cast("str", item)) if isinstance(item, str | bytes) else 0
            if len(found) > MAX_NODES or text > MAX_TEXT:
                break
    return found
