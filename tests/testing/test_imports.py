"""The doubles cost nothing until they are used."""

import subprocess
import sys

from micro_agent import testing

IMPORTS = """
import sys
import micro_agent.testing
from micro_agent.testing import ModelServer, ScriptedLM, text
with ModelServer([text("x")]):
    assert "dspy" not in sys.modules
ScriptedLM([text("x")])
assert "dspy" in sys.modules
"""


def test_importing_the_doubles_does_not_import_dspy():
    subprocess.run([sys.executable, "-W", "error", "-c", IMPORTS], check=True, timeout=60)


def test_the_public_names():
    assert sorted(testing.__all__) == [
        "FaultyLM", "ModelServer", "Received", "Reply", "Script", "ScriptedLM", "call", "calls", "cut", "decision",
        "error", "final", "hang", "malformed", "raw", "text",
    ]  # fmt: skip
    assert all(hasattr(testing, name) for name in testing.__all__)
