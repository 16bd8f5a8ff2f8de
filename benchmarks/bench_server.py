"""What HTTP costs: CPU of the server for a ``POST /ask`` of 5 steps, over that of an ``ask`` in a process of its own.

The model server, the server, the process that only asks, and the clients are four processes; server and asker take
turns, and the least of the rounds counts. Then 200 clients ask at once, against a model that takes 50 ms for a reply.
"""

import argparse
import http.client
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from time import process_time
from typing import Any
from urllib.parse import urlsplit

from benchmarks.scripted_server import ANSWER, QUESTION, serving

STEPS, RUNS, CLIENTS, CROWD, LATENCY_S = 5, 60, 8, 200, 0.05


def answer_asks(url: str) -> None:
    """The process that only asks: for each number on standard input so many asks, answered by their CPU seconds."""
    from benchmarks import loops

    ask = loops.agent_loop(loops.agent(url))
    for line in sys.stdin:
        begun = process_time()
        for _ in range(int(line)):
            ask(STEPS)
        print(process_time() - begun, flush=True)


def answer_http(url: str) -> None:
    """The server, with the same agent as the process that only asks, and a route that tells its CPU seconds."""
    from benchmarks import loops
    from micro_agent import Limits
    from micro_agent.server.app import create_app
    from micro_agent.server.runs import RunPool
    from micro_agent.server.serve import serve
    from micro_agent.server.settings import ServerSettings

    store, settings = loops.new_store(), ServerSettings(port=0)
    agent = loops.agent(url, store)
    pool = RunPool(lambda _: agent, store, max_running=CLIENTS, limits=Limits(max_steps=100))
    app = create_app(pool=pool, store=store, settings=settings)

    @app.get("/cpu")
    async def cpu() -> float:  # pyright: ignore[reportUnusedFunction]
        return process_time()

    serve(app, pool, settings, say=lambda line: print(line, flush=True))


@contextmanager
def running(part: str, url: str) -> Generator[subprocess.Popen[str]]:
    """This module in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_server", "--part", part, "--url", url]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


class Client:
    """One connection, kept."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        self._connection.request("GET", path)
        return json.loads(self._connection.getresponse().read())

    def ask(self) -> tuple[int, str | None]:
        """The status of an answer and its ``Retry-After``."""
        body = json.dumps({"question": QUESTION.format(steps=STEPS)})
        self._connection.request("POST", "/ask", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        assert response.status != 200 or answer["answer"] == ANSWER, answer
        return response.status, response.headers["Retry-After"]


def spent_by_server(url: str, clients: int) -> float:
    """CPU milliseconds of the server for one request, of ``clients`` that ask one after the other."""
    askers = [Client(url) for _ in range(clients)]

    def work(client: Client) -> None:
        for _ in range(RUNS // clients):
            assert client.ask() == (200, None)

    begun = Client(url).get("/cpu")  # not kept: an idle connection is closed after 5 s
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, askers))
    return (Client(url).get("/cpu") - begun) / (RUNS // clients * clients) * 1000


def spent_by_asker(asker: subprocess.Popen[str]) -> float:
    """CPU milliseconds of one ask."""
    assert asker.stdin is not None
    assert asker.stdout is not None
    asker.stdin.write(f"{RUNS}\n")
    asker.stdin.flush()
    return float(asker.stdout.readline()) / RUNS * 1000


def crowd(url: str) -> Counter[str]:
    """How many of the clients that ask at once get which status; a 429 without ``Retry-After`` is counted apart."""
    gate = Barrier(CROWD)

    def work(_: int) -> str:
        client = Client(url)
        gate.wait()
        try:
            status, retry_after = client.ask()
        except OSError as error:
            return type(error).__name__
        return f"{status}" if status != 429 or retry_after else "429 without Retry-After"

    with ThreadPoolExecutor(CROWD) as pool:
        return Counter(pool.map(work, range(CROWD)))


def url_of(server: subprocess.Popen[str]) -> str:
    """Where a server that was started says that it listens."""
    assert server.stdout is not None
    return server.stdout.readline().split()[-1]


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--part", choices=["asks", "http"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        {"asks": answer_asks, "http": answer_http}[given.part](given.url)
        return
    with serving() as model, running("asks", model) as asker, running("http", model) as server:
        url = url_of(server)
        least = dict.fromkeys(("ask", "1 client", f"{CLIENTS} clients"), float("inf"))
        for turn in range(given.rounds + 1):
            found = spent_by_asker(asker), spent_by_server(url, 1), spent_by_server(url, CLIENTS)
            if turn:  # the first round warms up
                least = {name: min(least[name], spent) for name, spent in zip(least, found, strict=True)}
    print(f"{'CPU of one run of 5 steps':28}{'ms':>8}{'ratio':>8}")
    for name, spent in least.items():
        print(f"{name if name == 'ask' else f'POST /ask, {name}':28}{spent:8.2f}{spent / least['ask']:8.2f}")
    with serving(LATENCY_S) as model, running("http", model) as server:
        counts = crowd(url_of(server))
    print(f"{CROWD} clients at once: " + ", ".join(f"{count} x {status}" for status, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
