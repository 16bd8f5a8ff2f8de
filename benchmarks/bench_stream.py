"""What a long streamed answer costs: CPU from the wire to the events, of an answer in n pieces and in 4 n.

The model server is a process of its own. An answer of which each piece is looked at once costs four times as much; one
that is looked through anew with each piece costs sixteen times.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import process_time
from typing import Any

from micro_agent.run import Mode

PIECES, FOLD, WORD = 8_000, 4, "word "
QUESTION, WANTED = "Say so many words: {}", re.compile(r"so many words: (\d+)")


class Talker(BaseHTTPRequestHandler):
    """Answers with as many words as the question asks for, each a piece of a stream."""

    def do_POST(self) -> None:
        """Answer as a decision where JSON is asked for, else as it is."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wanted = next(found for message in asked["messages"] if (found := WANTED.search(message["content"])))
        text = [WORD] * int(wanted[1])
        pieces = ['{"final": {"answer": "', *text, '"}}'] if "response_format" in asked else text
        body = "".join(f"data: {json.dumps(self.chunk(piece))}\n\n" for piece in pieces)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"{body}data: {json.dumps(self.chunk('', 'stop'))}\n\ndata: [DONE]\n\n".encode())

    def chunk(self, text: str, finish: str | None = None) -> dict[str, Any]:
        """One event."""
        return {"model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def serving() -> Generator[str]:
    """The model server; gives its OpenAI base URL."""
    command = [sys.executable, "-m", "benchmarks.bench_stream", "--serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)


def serve() -> None:
    """Serve until standard input closes."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Talker) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        sys.stdin.read()
        server.shutdown()


async def spent(url: str, mode: Mode, pieces: int) -> float:
    """CPU seconds of one streamed run."""
    from micro_agent import MicroAgent, configure_lm
    from micro_agent.streaming import AnswerText

    agent = MicroAgent([], configure_lm("openai", "m", url, fallback=False), mode, rules=[], demos=[])
    begun, said = process_time(), 0
    async for event in agent.astream(QUESTION.format(pieces)):
        said += isinstance(event, AnswerText)
    assert said >= pieces, f"{said} of {pieces} pieces came"
    return process_time() - begun


async def measure(rounds: int) -> None:
    """Print the table."""
    modes: tuple[Mode, ...] = ("native", "json")
    with serving() as url:
        await spent(url, "native", 100)
        print(f"{'mode':8}{f'{PIECES} pieces, s':>18}{f'{PIECES * FOLD}, s':>12}{'ratio':>8}{'us a piece':>12}")
        for mode in modes:
            few, many = [min([await spent(url, mode, n) for _ in range(rounds)]) for n in (PIECES, PIECES * FOLD)]
            print(f"{mode:8}{few:18.3f}{many:12.3f}{many / few:8.2f}{many / PIECES / FOLD * 1e6:12.1f}")


def main() -> None:
    """Measure, or be the model server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    else:
        asyncio.run(measure(given.rounds))


if __name__ == "__main__":
    main()
