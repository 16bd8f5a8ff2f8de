"""`ScriptedLM`: the scripted model inside the process, for tests that need no HTTP."""

from typing import TYPE_CHECKING

from micro_agent.run import Mode
from micro_agent.testing.script import Script

if TYPE_CHECKING:
    from micro_agent.testing.engine import ScriptedModel


def ScriptedLM(script: Script, *, mode: Mode | None = None) -> "ScriptedModel":  # noqa: N802 - what it makes is an object
    """A ``dspy.LM`` that plays a script. DSPy is imported when this is called.

    Replies and faults read as they would from a server on OpenAI's wire: an error becomes DSPy's exception for that
    status, a cut connection or a hang its transport error. Nothing is cached or retried. A copy (``lm.copy()``, a deep
    copy) goes on in the same script and writes into the same records.

    Args:
        script: Replies, or a function from the request (in the form of OpenAI's wire) to the reply.
        mode: The mode that ``--mode auto`` takes with it, native when ``None``.

    Returns:
        The LM, with ``requests``, the typed requests it was sent, and ``messages(k)``, as `ModelServer` has it.
    """
    from micro_agent.testing.engine import ScriptedModel

    return ScriptedModel(script, mode or "native")
