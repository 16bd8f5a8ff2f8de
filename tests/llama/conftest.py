"""Real servers, one of each kind for each process that runs tests; where the wheel does not load they are skipped."""

import subprocess
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal

import pytest

from micro_agent import Run, configure_lm
from micro_agent.run import Step

if TYPE_CHECKING:
    from tests.llama.server import Llama


@pytest.fixture(scope="session", autouse=True)
def _wheel() -> None:  # pyright: ignore[reportUnusedFunction]
    # Loaded elsewhere: native code stays out of this process.
    loaded = subprocess.run(
        [sys.executable, "-c", "import gguf, xllamacpp"], capture_output=True, text=True, check=False
    )
    if loaded.returncode:
        why = (loaded.stderr.splitlines() or ["it crashed"])[-1]
        pytest.skip(f"llama.cpp does not load ({why}): `pip install xllamacpp gguf`, and on Debian libgomp1")


@pytest.fixture(scope="session")
def server(_wheel: None) -> "Generator[Llama]":
    """One slot, a chat template with tools."""
    from tests.llama.server import llama

    with llama() as running:
        yield running


@pytest.fixture(scope="session")
def spelling(_wheel: None) -> "Generator[Llama]":
    """A model that splits a text into tokens in one way only, as large models mostly do what they wrote themselves."""
    from tests.llama.server import Tiny, llama

    with llama(Tiny(words=False)) as running:
        yield running


@pytest.fixture(scope="session")
def toolless(_wheel: None) -> "Generator[Llama]":
    """A chat template that knows nothing of tools, and a model that never begins a call."""
    from tests.llama.server import Tiny, llama

    with llama(Tiny(tools=False, calls=-9, ends=0.6)) as running:
        yield running


@pytest.fixture(scope="session")
def sharing(_wheel: None) -> "Generator[Llama]":
    """Four slots that share one context, as they do by themselves. For one request at a time it is long enough."""
    from tests.llama.server import Served, llama

    with llama(served=Served(slots=4, shared=True, context=1536)) as running:
        yield running


@pytest.fixture(scope="session")
def shipped(_wheel: None) -> "Generator[Llama]":
    """The tiny model that ships."""
    from tests.llama.server import Served, llama

    with llama(None, Served(context=4096)) as running:
        yield running


def lm_of(server: "Llama", **kwargs: Any) -> Any:
    """The LM of a server. What it says is noise, of a given seed; a reply is a call where that can be required."""
    noise: dict[str, Any] = {"temperature": 1.0, "seed": 1, "max_tokens": 400, "tool_choice": "required"}
    return configure_lm("openai", "tiny", server.openai_url, fallback=False, **{**noise, **kwargs})


def made(run: Run) -> list[Step]:
    """The steps of a run without calls that its end left unmade."""
    return [step for step in run.steps if step.error != "NOT_RUN"]


Unit = Literal["metre", "foot"]


def measure(count: int, unit: Unit) -> str:
    """Measure something."""
    return f"{count} {unit}"
