"""What tests of the coding toolset through the command line share."""

from tests.cli.conftest import cli

__all__ = ["cli"]
