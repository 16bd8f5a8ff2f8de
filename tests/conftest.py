"""What all tests share: an environment without models, a store of traces in a folder of the test's own."""

import fcntl
import gc
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from micro_agent.files import known_secrets
from micro_agent.traces import TraceStore
from tests.warm import Warm

# Two busy cores make any deadline a coin toss. Every run draws other examples, so fewer a run find the same in the end.
settings.register_profile("micro_agent", deadline=None, max_examples=30)
settings.load_profile("micro_agent")

# DSPy keeps replies on disk, for all programs of a user, and knows them by the request alone. DSPy is not imported yet.
_cache = tempfile.TemporaryDirectory(prefix="micro-agent-dspy-cache-", ignore_cleanup_errors=True)
os.environ["DSPY_CACHEDIR"] = _cache.name

# The threads of NumPy's matrices wait for each other by spinning: with a worker a core that takes seven times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell has programs in the background ignore Ctrl-C. The tests that send it would wait for ever, and what they start
# would ignore it as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_OURS = (
    "LLM_", "OPENAI_", "OLLAMA_", "LITELLM_MODEL", "MICRO_AGENT_", "TRACES_DIR", "COMPILED_DEMOS_PATH",
    "TOOLS_MODULES", "TEMPERATURE", "MAX_TOKENS", "CONTEXT_LENGTH", "USE_TOOL_CALLS", "SAMPLES", "RESAMPLES",
    "OTEL_", "PHOENIX_", "TRACEPARENT",
)  # fmt: skip


def pytest_collection_finish() -> None:
    """What is there for good (DSPy, the tests themselves) is not looked through at each collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """No setting of the machine reaches a test, and no secret that another test was given."""
    monkeypatch.setattr(known_secrets, "_given", ())
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RESAMPLES", "0")  # a script's next reply is the next decision's


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    """Traces and state in folders of this test."""
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """What commands are forked from."""
    process = Warm(tmp_path_factory.mktemp("warm"))
    yield process
    process.close()


@pytest.fixture
def ollamas_port() -> Iterator[int]:
    """The port that Ollama has when nothing is said of it: for one test at a time, and free."""
    with open(Path(tempfile.gettempdir(), "micro-agent-tests-11434.lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            socket.create_server(("127.0.0.1", 11434)).close()
        except OSError:
            pytest.skip("something listens on Ollama's own port")
        yield 11434


@pytest.fixture
def prose_is_final(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is asked whether its prose is its answer: for tests that count requests or steps of something else."""
    monkeypatch.setenv("MICRO_AGENT_FINISH", "text")
