"""Whether the runs of a command are seen from outside, and what is said of it at the end."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

from micro_agent.cli.messages import say
from micro_agent.cli.options import option
from micro_agent.extras import is_installed

if TYPE_CHECKING:
    from micro_agent.observing import Endpoint, Exporter
    from micro_agent.traces import TraceStore

Phoenix = Annotated[
    bool | None,
    option("--phoenix/--no-phoenix", env="MICRO_AGENT_PHOENIX", help="Send spans to Phoenix [if it is configured]."),
]

_PATIENCE_S = 60.0


@contextmanager
def seen(phoenix: bool | None, *, called: bool = True) -> Generator[None]:
    """Send the spans of the runs in this block, if that is wanted or a collector is configured; say where to look.

    Args:
        phoenix: What ``--phoenix/--no-phoenix`` says.
        called: Whether the runs belong to the span that ``TRACEPARENT`` names.

    Raises:
        ConfigurationError: It was asked for, and the extra is not installed; or a collector has no address.
    """
    from micro_agent.observing.endpoints import endpoint

    found = endpoint(phoenix, os.environ)
    if found is None:
        yield
        return
    from micro_agent.observing.exporter import SENDER, exporting
    from micro_agent.running.observers import called_by

    if phoenix is None and not is_installed(SENDER):
        say(f"micro-agent: warning: no spans are sent to {found.url}: the extra otel is not installed")
        yield
        return
    with ExitStack() as last, exporting(found) as exporter:
        last.callback(_say_where, found, exporter)  # however the command ends
        with called_by(os.environ.get("TRACEPARENT") if called else None):
            yield


def _say_where(found: "Endpoint", exporter: "Exporter") -> None:
    if exporter.sent:
        say(f"Spans: {found.where(exporter.traces[0] if len(exporter.traces) == 1 else None)}")


def export_runs(
    store: "TraceStore", ids: list[str], otlp: str | None, phoenix: bool | None, *, content: bool
) -> bool:  # fmt: skip
    """Send these runs as spans, and say what came of it. Returns whether the collector has taken all of them.

    Raises:
        ConfigurationError: No collector is named, or the extra is not installed.
    """
    from dataclasses import replace

    from micro_agent.errors import ConfigurationError, MicroAgentError
    from micro_agent.observing import Exporter, endpoint, spans_of
    from micro_agent.traces import as_it_stands

    if otlp is not None and phoenix:
        raise ConfigurationError("name one collector: --otlp URL or --phoenix")
    found = endpoint(phoenix, os.environ, url=otlp)
    if found is None:
        raise ConfigurationError("name a collector: --otlp URL, or --phoenix for the one at http://localhost:6006")
    found = replace(found, content=content or found.content)
    exporter, read = Exporter(found), 0
    for run_id in ids:
        try:
            run = as_it_stands(store, run_id)
        except MicroAgentError as error:
            say(f"micro-agent: {error}")
            continue
        spans, read = spans_of(run, content=found.content), read + 1
        exporter.send(spans if run.status in ("completed", "stopped", "failed") else spans[:-1], wait=True)
    whole = exporter.close(_PATIENCE_S)
    say(f"Sent: {exporter.sent} spans of {read} runs to {found.where()}")
    return whole and read == len(ids)
