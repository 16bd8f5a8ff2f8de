"""The proxy as a real process, and beside it a relay that only passes on what comes: what any proxy costs here."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

_URL = re.compile(r"http://[\w.]+:\d+")

RELAY = """
import sys, httpx, uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))

async def relay(request):
    headers = {k: v for k, v in request.headers.items() if k != "host"}
    sent = client.build_request("POST", sys.argv[1] + request.url.path, headers=headers, content=await request.body())
    answer = await client.send(sent, stream=True)
    kept = {k: v for k, v in answer.headers.items() if k not in ("transfer-encoding", "connection")}
    async def body():
        async for piece in answer.aiter_raw():
            yield piece
        await answer.aclose()
    return StreamingResponse(body(), answer.status_code, kept)

app = Starlette(routes=[Route("/{path:path}", relay, methods=["POST"])])
class Told(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("http://127.0.0.1:%d" % self.servers[0].sockets[0].getsockname()[1], flush=True)
Told(uvicorn.Config(app, port=0, log_level="error", backlog=2048)).run()
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A server: where it is, and which process it is."""

    url: str
    pid: int

    def cpu_s(self) -> float:
        """Processor time of its threads so far, to the nanosecond (``/proc``, ``schedstat``); none of them ends."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9

    def memory_mb(self) -> float:
        """Resident memory, at its peak."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def proxying(upstream: str, *options: str, traces: Path | None = None) -> Generator[Process]:
    """``micro-agent proxy`` before this upstream; what it records is thrown away unless a folder is given."""
    command = [sys.executable, "-m", "micro_agent", "proxy", "--upstream", upstream, "--port", "0", *options]
    with (
        nullcontext(traces) if traces else tempfile.TemporaryDirectory() as folder,
        _started([*command, "--traces-dir", str(folder)]) as process,
    ):
        yield process


@contextmanager
def relaying(upstream: str) -> Generator[Process]:
    """The relay before this upstream."""
    with _started([sys.executable, "-c", RELAY, upstream]) as process:
        yield process


@contextmanager
def _started(command: list[str]) -> Generator[Process]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        found = next((url for line in process.stdout if (url := _URL.search(line))), None)
        if found is None:
            raise RuntimeError(f"{command[2]} does not say where it listens")
        yield Process(found[0], process.pid)
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
