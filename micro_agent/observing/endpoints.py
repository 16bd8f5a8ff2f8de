"""Where spans go: what an option, Phoenix's variables and OpenTelemetry's say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from micro_agent.errors import ConfigurationError

PATH = "/v1/traces"
LOCAL_PHOENIX = f"http://localhost:6006{PATH}"
"""Where Phoenix listens unless it is told otherwise."""
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A collector of spans that speaks OTLP over HTTP.

    Attributes:
        url: What is posted to.
        phoenix: Whether it is known to be a Phoenix, which has pages to look at.
        headers: Beside those of ``OTEL_EXPORTER_OTLP_HEADERS``.
        project: The project in Phoenix.
        service: Who sends, as collectors name it.
        content: Whether spans tell what was asked, said, called and observed.
    """

    url: str
    phoenix: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    project: str | None = None
    service: str = "micro-agent"
    content: bool = False

    def where(self, trace: str | None = None) -> str:
        """Where a person looks at what was sent; in Phoenix at one ``trace``, if it is named."""
        if not self.phoenix:
            return f"{self.url} (trace {trace})" if trace else self.url
        base = self.url.removesuffix(PATH)
        return f"{base}/redirects/traces/{trace}" if trace else base


def endpoint(wanted: bool | None, environ: Mapping[str, str], *, url: str | None = None) -> Endpoint | None:
    """Where the spans of this process go; ``None`` for nowhere.

    Args:
        wanted: What ``--phoenix/--no-phoenix`` says; ``None``: nothing, and a collector is used where one is named.
        environ: ``PHOENIX_COLLECTOR_ENDPOINT``, ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` or
            ``OTEL_EXPORTER_OTLP_ENDPOINT`` name one; ``PHOENIX_API_KEY``, ``PHOENIX_PROJECT_NAME``,
            ``OTEL_SERVICE_NAME`` and ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` count as well.
        url: Named on the command line instead: the address of a collector, with or without ``/v1/traces``.

    Raises:
        ConfigurationError: What names it is no URL.
    """
    if wanted is False or (wanted is None and url is None and environ.get("OTEL_SDK_DISABLED", "").lower() == "true"):
        return None
    phoenix, whole = environ.get("PHOENIX_COLLECTOR_ENDPOINT"), environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    named = url or phoenix or whole or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or (LOCAL_PHOENIX if wanted else None)
    if named is None:
        return None
    is_phoenix = url is None and (named == phoenix or (named == LOCAL_PHOENIX and wanted is True))
    key = environ.get("PHOENIX_API_KEY") if is_phoenix else None
    return Endpoint(
        named if not (url or phoenix) and named == whole else _with_path(named),
        is_phoenix,
        {"authorization": f"Bearer {key}"} if key else {},
        environ.get("PHOENIX_PROJECT_NAME") or None,
        environ.get("OTEL_SERVICE_NAME") or "micro-agent",
        environ.get(_CONTENT, "").lower() in ("true", "1"),
    )


def _with_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"a collector of spans has an address like http://localhost:6006, not {url[:80]!r}")
    url = url.rstrip("/")
    return url if url.endswith(PATH) else url + PATH
