"""The model server of the benchmarks, in a process of its own: calls the tool until it was called often enough.

How often stands in the question, ``work N steps``, so that one server serves every length.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from micro_agent.testing import ModelServer, Received, Reply, call, text

QUESTION = "Add the numbers, please: work {steps} steps."
ANSWER = "All steps are done."


def reply(request: Received) -> Reply:
    """The next reply of a conversation, from its messages alone."""
    messages = (request.body or {})["messages"]
    if request.asks_if_final:
        return text('{"done": true}', usage=(100, 10))
    question = next(m["content"] for m in messages if m["role"] == "user" and "work" in m["content"])
    wanted = int(re.search(r"work (\d+) steps", question).group(1))  # pyright: ignore[reportOptionalMemberAccess]
    done = sum(message["role"] == "tool" for message in messages)
    if done < wanted:
        return call("add", {"a": done, "b": 1}, id=f"call_{done}", usage=(100, 10))
    return text(ANSWER, usage=(100, 10))


@contextmanager
def serving(latency_s: float = 0.0) -> Generator[str]:
    """Run the server; gives its OpenAI base URL."""
    command = [sys.executable, "-m", "benchmarks.scripted_server", "--latency", str(latency_s)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.stdin.close()
        process.wait(10)


def main() -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    with ModelServer(reply, latency_s=parser.parse_args().latency) as server:
        print(json.dumps({"url": server.openai_url}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
