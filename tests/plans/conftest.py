"""What the tests of plans share with those of the command line."""

from tests.cli.conftest import cli, command, soon

__all__ = ["cli", "command", "soon"]
