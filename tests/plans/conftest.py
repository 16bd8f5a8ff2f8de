"""What the tests of plans share with those of the command line."""

from tests.cli.conftest import soon

__all__ = ["soon"]
