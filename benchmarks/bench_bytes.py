"""Bytes sent for 50 native steps with the same instructions, over those of a hand-written loop."""

from benchmarks import loops
from benchmarks.scripted_server import QUESTION, reply
from micro_agent.testing import ModelServer


def main() -> None:
    """Print both sums and their ratio."""
    sent: dict[str, int] = {}
    for name in ("raw", "micro-agent"):
        with ModelServer(reply) as server:
            loop = (
                loops.raw_loop(server.openai_url)[0]
                if name == "raw"
                else loops.agent_loop(loops.agent(server.openai_url))
            )
            loop(50)
            sent[name] = sum(len(request.raw) for request in server.chats)
    ratio = sent["micro-agent"] / sent["raw"]
    print(f"question: {QUESTION.format(steps=50)!r}")
    print(f"raw {sent['raw']} bytes, micro-agent {sent['micro-agent']} bytes, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
