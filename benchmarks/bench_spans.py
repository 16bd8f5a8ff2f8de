"""What spans cost a run: processor time per span, made and queued, and sent to a collector on loopback.

A recorded run of 25 steps, each a call with an observation of 2 KB, a program in a sandbox and an approval. *Run* is
what the run's own thread spends: making the spans and queuing them. *All* is what the process spends, with encoding,
masking and posting. Without content, and with it.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import process_time, thread_time
from typing import Any

from micro_agent.observing import Endpoint, Exporter, spans_of
from micro_agent.run import LMCall, Run, Step

STEPS = 25
ROUNDS = 40
AT = "2026-01-01T00:00:00.000Z"
PROGRAM = {"at": AT, "kind": "bwrap", "profile": "ro", "argv": [["rg", "--json", "total"]], "exit": 0, "seconds": 0.1}
WORD = {"kind": "patch", "id": "patch_0123456789", "file": "a.py", "granted": True, "at": AT, "seconds": 0.5}


class Sink(BaseHTTPRequestHandler):
    """Takes everything."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Read it and say that it is fine."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def recorded() -> Run:
    """A run of the coding tools, as a record has it."""
    observation = {"path": "a.py", "lines": ["x" * 80] * 25}
    steps = [
        Step(tool="read_file", args={"path": f"src/{n}.py"}, observation=observation, call=n, call_id=f"call_{n}",
             at=AT, latency_s=0.1, programs=[dict(PROGRAM)], approval=dict(WORD))
        for n in range(STEPS)
    ]  # fmt: skip
    calls = [LMCall(reply={"text": "y" * 200}, at=AT, input_tokens=900, output_tokens=60) for _ in range(STEPS)]
    return Run(question="Fix it.", status="completed", answer="Done.", steps=steps, calls=calls)


def measured(run: Run, url: str, *, content: bool) -> tuple[float, float, int]:
    """Seconds of the run's thread and of the whole process per span, and how many spans a run has."""
    exporter: Any = Exporter(Endpoint(url), most_waiting=1_000_000)
    exporter.send(spans_of(run))  # OpenTelemetry is imported with the first
    while not exporter.sent:
        threading.Event().wait(0.05)
    whole, own, count = process_time(), thread_time(), 0
    for _ in range(ROUNDS):
        spans = spans_of(run, content=content)
        exporter.send(spans)
        count += len(spans)
    own = thread_time() - own
    assert exporter.close(60.0)
    return own / count, (process_time() - whole) / count, count // ROUNDS


def main() -> None:
    """Print a line for each."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        for content in (False, True):
            own, whole, count = measured(
                recorded(), f"http://127.0.0.1:{server.server_port}/v1/traces", content=content
            )  # fmt: skip
            told = "with content" if content else "without content"
            print(f"{count} spans a run, {told}: run {own * 1e3:.3f} ms, all {whole * 1e3:.3f} ms per span")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    main()
