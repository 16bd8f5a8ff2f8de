"""What the proxy counts, as Prometheus reads it (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from collections import Counter
from collections.abc import Iterable

_PREFIX = "micro_agent_proxy"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts of one proxy since it began; it belongs to one event loop."""

    def __init__(self) -> None:
        self.under_way = 0
        self._requests = Counter[tuple[str, int]]()
        self._repairs = Counter[str]()
        self._failures = Counter[str]()

    def answered(self, path: str, status: int) -> None:
        """A request was answered."""
        self._requests[path, status] += 1

    def repaired(self, kinds: Iterable[str]) -> None:
        """A reply was mended in these ways."""
        self._repairs.update(kinds)

    def failed(self, kind: str) -> None:
        """Something went wrong: ``upstream``, ``cut_off``, ``left``, ``reading``, ``record``, ``context_length``."""
        self._failures[kind] += 1

    def text(self) -> str:
        """All of it."""
        requests = [(f'path="{path}",status="{status}"', count) for (path, status), count in self._requests.items()]
        lines = [
            *_family("requests_total", "counter", "Requests that were answered.", requests),
            *_family("repairs_total", "counter", "Repairs of replies.", _by_kind(self._repairs)),
            *_family("failures_total", "counter", "What went wrong.", _by_kind(self._failures)),
            *_family("under_way", "gauge", "Requests that wait for their reply.", [("", self.under_way)]),
        ]
        return "\n".join(lines) + "\n"


def _by_kind(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(f'kind="{kind}"', count) for kind, count in sorted(counts.items())]


def _family(name: str, kind: str, told: str, values: Iterable[tuple[str, int]]) -> Iterable[str]:
    yield f"# HELP {_PREFIX}_{name} {told}"
    yield f"# TYPE {_PREFIX}_{name} {kind}"
    for labels, value in values:
        yield f"{_PREFIX}_{name}{f'{{{labels}}}' if labels else ''} {value}"
