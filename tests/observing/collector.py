"""A collector on loopback: takes what OpenTelemetry's exporter posts, decodes the protobuf, keeps the spans."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PATIENCE_S = 30.0


@dataclass(frozen=True)
class Seen:
    """A span as it came."""

    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]
    status: int
    message: str
    events: list[tuple[str, dict[str, Any]]]


@dataclass
class Collector:
    """Where it listens, and what came. ``status`` is what it answers; while ``held`` it does not."""

    url: str = ""
    status: int = 200
    spans: list[Seen] = field(default_factory=list[Seen])
    resources: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    raw: list[bytes] = field(default_factory=list[bytes])
    held: threading.Event = field(default_factory=threading.Event)
    came: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, name: str) -> None:
        """Return when a span of this name has come."""
        with self.came:
            assert self.came.wait_for(lambda: any(span.name == name for span in self.spans), PATIENCE_S)

    def named(self, name: str) -> list[Seen]:
        """The spans of this name, in the order in which they came."""
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        """Keep what one request brings."""
        request = ExportTraceServiceRequest.FromString(body)
        with self.came:
            self.raw.append(body)
            self.headers.append(headers)
            for resource in request.resource_spans:
                self.resources.append(_attributes(resource.resource.attributes))
                for scope in resource.scope_spans:
                    self.spans += map(_seen, scope.spans)
            self.came.notify_all()


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector, as long as the block lasts."""
    collector = Collector()
    collector.held.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.held.wait(PATIENCE_S)
            if collector.status == 200:
                collector.take(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(collector.status)
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
    try:
        yield collector
    finally:
        collector.held.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _seen(span: Any) -> Seen:
    return Seen(
        span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.start_time_unix_nano,
        span.end_time_unix_nano, _attributes(span.attributes), span.status.code, span.status.message,
        [(event.name, _attributes(event.attributes)) for event in span.events],
    )  # fmt: skip


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)
