# pyright: reportUnknownMemberType=false
"""Run by test_no_phone_home.py in a clean environment: calls models and prints every host that was looked up or called.

Usage: ``python play_no_phone_home.py PROVIDER URL MODEL…``, an empty argument for one that is not given.
"""

import asyncio
import json
import sys
from typing import Any

seen: list[str] = []


def watch(event: str, args: tuple[Any, ...]) -> None:
    """Record where a socket goes. An audit hook sees it however Python code gets there."""
    if event in {"socket.connect", "socket.sendto"} and isinstance(args[1], tuple):
        seen.append(f"{args[1][0]}:{args[1][1]}")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        seen.append(f"{args[0]}:{args[1] if event == 'socket.getaddrinfo' else ''}")
    elif event in {"subprocess.Popen", "os.posix_spawn"}:
        seen.append(f"process {args[0]}")


sys.addaudithook(watch)

from micro_agent.models import configure_lm  # noqa: E402 - the hook comes first
from micro_agent.models.addresses import OPENAI_PUBLIC_URL  # noqa: E402
from micro_agent.models.prices import price, price_of  # noqa: E402
from micro_agent.models.settings import load_settings  # noqa: E402

QUESTION = "What is 2+2?"


def play(provider: str, url: str, model: str) -> None:
    """Call one model, synchronously and not, and ask for its price."""
    lm: Any = configure_lm(provider or None, model or None, url or None, "k" if provider == "litellm" else None)
    if provider == "mock":
        from dspy.lm15 import FunctionTool, Message, Request

        lm(Request(model=lm.model, messages=(Message.user(QUESTION),), tools=(FunctionTool(name="calculator"),)))
    else:
        lm(QUESTION)
        asyncio.run(lm.acall(QUESTION))
    price_of(lm, load_settings())
    price("openai/gpt-4o-mini", load_settings(), base_url=OPENAI_PUBLIC_URL)  # reads DSPy's table


if __name__ == "__main__":
    for name in sys.argv[3:]:
        play(sys.argv[1], sys.argv[2], name)
    sys.stdout.write(json.dumps(seen))
