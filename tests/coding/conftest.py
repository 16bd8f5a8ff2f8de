"""What the tests of the coding toolset share, and what they say at the end: which sandboxes ran on this machine."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import cli
from tests.coding.sandbox_kinds import Place, made_place

__all__ = ["cli", "noted", "place", "pytest_terminal_summary"]

Noted = Callable[[str], None]


@pytest.fixture
def place() -> Iterator[Place]:
    """A repository with secrets. Its path is short: a socket's may have 107 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        made = made_place(Path(folder))
        with made.after:
            yield made


@pytest.fixture
def noted(request: pytest.FixtureRequest) -> Noted:
    """Takes a line for the end of the session."""
    return lambda line: request.node.user_properties.append(("sandbox", line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which kinds of sandbox were attacked in which profiles, and which could not be."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    lines = {line for report in reports for name, line in getattr(report, "user_properties", ()) if name == "sandbox"}
    for line in sorted(lines):
        terminalreporter.write_line(f"sandbox {line}")
