"""LiteLLM's proxy before the real llama.cpp: both wires through a server that wraps every word of the other's."""

import os
import socket
import subprocess
from collections.abc import Generator
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

import pytest

from micro_agent import Limits, MicroAgent, Tool, configure_lm
from micro_agent.replay import verify
from micro_agent.run import Mode
from micro_agent.streaming import Ended
from tests.torture.programs import program

pytestmark = pytest.mark.torture

KEY = "sk-torture-0123456789"
PATIENCE_S = 55.0
ENVIRONMENT = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PATH": os.environ["PATH"]}


def take(x: Any) -> str:
    return "taken"


def taking(x: Any) -> Tool:
    schema = {"type": "object", "properties": {"x": x}, "required": ["x"], "additionalProperties": False}
    return Tool("take", "Take something.", schema, take)


PLAIN = taking({"enum": ["a", "b"]})
REFUSED = taking(True)
BREAKING = taking({"type": "string", "pattern": r"^[^@]+@[^@]+\.[a-z]+$"})


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of a proxy that passes everything on to a llama.cpp server."""
    if find_spec("xllamacpp") is None or find_spec("gguf") is None:
        pytest.skip("there is no xllamacpp wheel for this platform")
    from tests.llama.server import llama

    litellm, folder = program("litellm"), tmp_path_factory.mktemp("litellm")
    with llama() as server, (folder / "log").open("wb") as log:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        behind = {"model": "openai/tiny", "api_base": server.openai_url, "api_key": "none"}
        config = folder / "config.yaml"
        config.write_text(dumps({"model_list": [{"model_name": "tiny", "litellm_params": behind}]}))
        process = subprocess.Popen(
            [litellm, "--config", config, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder, env={**ENVIRONMENT, "HOME": str(folder)}, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        with process:
            try:
                wait_for(f"http://127.0.0.1:{port}/health/liveliness", process, folder / "log")
                yield f"http://127.0.0.1:{port}/v1"
            finally:
                process.terminate()


def wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return when the proxy answers."""
    end = monotonic() + PATIENCE_S
    while monotonic() < end and process.poll() is None:
        try:
            with urlopen(url, timeout=5):
                return
        except OSError:
            sleep(0.2)
    pytest.fail(f"the proxy does not answer: {log.read_text('utf-8', 'replace')[-2000:]}")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("tool", [PLAIN, REFUSED, BREAKING], ids=["plain", "refused", "breaking"])
@pytest.mark.parametrize("mode", ["native", "json"])
def test_both_modes_work_through_it(proxy: str, mode: Mode, tool: Tool, streamed: bool) -> None:
    noise: dict[str, Any] = {"temperature": 1.0, "seed": 1, "max_tokens": 300, "tool_choice": "required"}
    lm = configure_lm("openai", "tiny", proxy, KEY, fallback=False, **noise)
    agent = MicroAgent([tool], lm, mode, [], Limits(max_steps=2), demos=[])
    if streamed:
        *_, last = agent.stream("What is it?")
        assert isinstance(last, Ended)
        run = last.run
    else:
        run = agent.ask("What is it?")
    assert (run.status, run.termination_reason) == ("stopped", "max_steps"), run.error
    assert {call.mode for call in run.calls} == {mode}
    errors = {call.error["reason"] for call in run.calls if call.error is not None}
    assert errors <= ({"bad_arguments"} if tool is BREAKING else set()), "a pattern that is only told is not kept to"
    (verdict,) = verify([run], agent)
    assert verdict.outcome == "same", list(verdict.lines())
