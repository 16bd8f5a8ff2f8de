# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Every name of DSPy that is not public, and nothing else: what to look at when DSPy moves them, as 3.5 will.

Public is what `dspy`, ``dspy.lm15``, ``dspy.streaming`` and ``dspy.utils`` export themselves. No other module imports
anything else of DSPy (``tests/test_layout.py``), and each name here has a test that says what it stands for
(``tests/test_dspy_internals.py``). ``import dspy`` loads all of these modules, so importing them costs nothing.
(`micro_agent.models.scope`, which must not import DSPy, knows the name of one of its loggers.)
"""

from typing import Any

from dspy._vendor.lm15.transports import (
    AsyncTransportResponse,
    ConnectError,
    ReadTimeout,
    StdlibAsyncTransport,
    StdlibTransport,
    TransportError,
    TransportRequest,
    TransportResponse,
    WriteTimeout,
)
from dspy.clients._litellm import get_litellm
from dspy.clients.backend_selection import CLIENT_KEYS
from dspy.clients.engines import litellm_engine
from dspy.clients.model_metadata import model_info, rate
from dspy.dsp.utils.settings import main_thread_config
from dspy.streaming.messages import sync_send_to_stream
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer
from dspy.utils.callback_context import ACTIVE_CALL_ID

__all__ = [
    "ACTIVE_CALL_ID", "CLIENT_KEYS", "AsyncTransportResponse", "ConnectError", "InstructionProposer", "ReadTimeout",
    "StdlibAsyncTransport", "StdlibTransport", "TransportError", "TransportRequest", "TransportResponse",
    "WriteTimeout", "async_engine_of", "get_litellm", "litellm_engine", "model_info", "process_wide_trace", "rate",
    "sync_send_to_stream",
]  # fmt: skip


def process_wide_trace() -> Any:
    """The trace that DSPy keeps where nobody collects one in a block of their own."""
    return main_thread_config["trace"]


def async_engine_of(lm: Any) -> Any:
    """The asynchronous engine of a ``dspy.LM``, ``None`` where it has none; the synchronous one is ``lm.engine``."""
    return getattr(lm, "_async_engine_spec", None)
