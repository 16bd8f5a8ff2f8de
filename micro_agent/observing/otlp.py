"""Spans handed to OpenTelemetry's own exporter, which encodes and posts them. Only this module knows the package."""

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event as OtelEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from micro_agent import __version__
from micro_agent.files.masking import Mask, mask_of
from micro_agent.observing.attributes import Attribute
from micro_agent.observing.endpoints import Endpoint
from micro_agent.observing.spans import Span

_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_LOGS = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.exporter.otlp.common")
_LONGEST = 300
_SCOPE = InstrumentationScope("micro_agent", __version__)


class Otlp:
    """One collector. Belongs to one thread, which makes it; `stop` may be called from another.

    Attributes:
        trouble: What the exporter says of the collector, which it does in a log; the first since this was ``None``.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.trouble: str | None = None
        self._thread = threading.get_ident()
        for name in _LOGS:
            logging.getLogger(name).addFilter(self._heard)
        self._exporter = OTLPSpanExporter(endpoint=endpoint.url, headers=dict(endpoint.headers) or None)
        named = {"openinference.project.name": endpoint.project} if endpoint.project else {}
        self._resource = Resource({"service.name": endpoint.service, "service.version": __version__, **named})

    def export(self, spans: Sequence[Span]) -> bool:
        """Send them, secrets masked. Returns whether the collector took them; it may take as long as its timeout."""
        mask = mask_of()
        return self._exporter.export([self._read(span, mask) for span in spans]) is SpanExportResult.SUCCESS

    def stop(self) -> None:
        """Try nothing again any more."""
        self._exporter.shutdown()

    def close(self) -> None:
        """Let go of what the process shares."""
        for name in _LOGS:
            logging.getLogger(name).removeFilter(self._heard)

    def _heard(self, record: logging.LogRecord) -> bool:
        """Whether a line of the exporter's log is shown: not ours, of which one is said by us."""
        if threading.get_ident() != self._thread:
            return True
        self.trouble = self.trouble or " ".join(_why(record).split())[:_LONGEST]
        return False

    def _read(self, span: Span, mask: Mask) -> ReadableSpan:
        code = StatusCode.ERROR if span.error is not None else StatusCode.OK if span.ok else StatusCode.UNSET
        return ReadableSpan(
            name=mask.text(span.name),
            context=_context(span.trace, span.id),
            parent=None if span.parent is None else _context(span.trace, span.parent),
            resource=self._resource,
            attributes=_masked(span.attributes, mask),
            events=[OtelEvent(one.name, _masked(one.attributes, mask), one.at) for one in span.events],
            kind=_KINDS[span.kind],
            status=Status(code, None if span.error is None else mask.text(span.error)),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=_SCOPE,
        )


def _why(record: logging.LogRecord) -> str:
    """What a line of the log says; of an error in it, what is below all that was raised because of it."""
    error = next((one for one in record.args or () if isinstance(one, BaseException)), None)
    while error is not None and (below := error.__cause__ or error.__context__) is not None:
        error = below
    return record.getMessage() if error is None else str(error)


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=_SAMPLED)


def _masked(attributes: Mapping[str, Attribute], mask: Mask) -> dict[str, Any]:
    return {name: _masked_value(value, mask) for name, value in attributes.items()}


def _masked_value(value: Attribute, mask: Mask) -> Attribute:
    if isinstance(value, str):
        return mask.text(value).encode("utf-8", "replace").decode()  # half of a surrogate pair is no UTF-8
    return [mask.text(one).encode("utf-8", "replace").decode() for one in value] if isinstance(value, list) else value
