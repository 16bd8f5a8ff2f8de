"""What is missing of an extra is told, with how it is installed."""

import sys

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.extras import is_installed, need


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    need("dev", "json", "asyncio.tasks")
    told = r"^pytest is not installed: install the extra, with pip install '\.\[dev\]' in a checkout of micro-agent"
    with pytest.raises(ConfigurationError, match=f"{told}$"):
        need("dev", "json", "pytest")
    with pytest.raises(ConfigurationError, match=f"{told}, or do without$"):
        need("dev", "pytest", instead="do without")
    assert not is_installed("no_such_package_of_anybody.inside")
