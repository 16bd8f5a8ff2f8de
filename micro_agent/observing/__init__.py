"""Runs seen from outside: each as a tree of spans, made of its record alone, and sent to an OpenTelemetry collector."""

from micro_agent.observing.endpoints import Endpoint, endpoint
from micro_agent.observing.exporter import Exporter, exporting
from micro_agent.observing.spans import Event, Span, SpanFold, spans_of

__all__ = ["Endpoint", "Event", "Exporter", "Span", "SpanFold", "endpoint", "exporting", "spans_of"]
