"""The real llama.cpp, serving a `Tiny` model on 127.0.0.1: as a program, and the fixture's way to start it."""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

from tests.llama.tiny_model import Tiny, write
from training.export import gguf

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Served:
    """How the server is started: ``context`` is that of a slot, or of all of them where they share it."""

    slots: int = 1
    shared: bool = False
    """As ``llama-server`` does it by itself: the slots share one context."""
    context: int = 8192
    jinja: bool = True
    key: str = ""


@dataclass(frozen=True)
class Llama:
    """A server that runs."""

    url: str
    """Without ``/v1``."""
    log: Path

    @property
    def openai_url(self) -> str:
        """Its OpenAI-compatible API."""
        return f"{self.url}/v1"

    @property
    def computed(self) -> int:
        """Tokens of prompts that it has computed and not taken from its cache, since it started."""
        with urlopen(f"{self.url}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("llamacpp:prompt_tokens_total "))


@contextmanager
def llama(model: Tiny | None = Tiny(), served: Served = Served()) -> Generator[Llama]:  # noqa: B008 - both are constants
    """Start a server, and end it. A subprocess: a crash of native code is then no crash of the tests.

    ``None`` is the model that ships, with its numbers as they are.
    """
    given = json.dumps({"model": model and asdict(model), "served": asdict(served)})
    with TemporaryDirectory(prefix="micro-agent-llama-") as folder:
        log = Path(folder, "log")
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.llama.server", folder, given],
                cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        with process:
            try:
                assert process.stdout is not None
                url = process.stdout.readline().strip()
                assert url, f"the server did not start: {log.read_text('utf-8', 'replace')[-2000:]}"
                yield Llama(url, log)
            finally:
                process.terminate()


def main() -> None:
    """Make the model, serve it, print the address, and stay until SIGTERM."""
    xllamacpp: Any = import_module("xllamacpp")  # it ships no types

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("given", type=json.loads)
    named = parser.parse_args()
    served = Served(**named.given["served"])
    path = named.folder / "tiny.gguf"
    params = xllamacpp.CommonParams()
    if named.given["model"] is None:
        gguf(path)
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    else:
        write(path, Tiny(**named.given["model"]))
    params.model.path, params.model_alias, params.port = str(path), {"tiny"}, 0
    params.n_parallel, params.kv_unified = served.slots, served.shared
    params.n_ctx = served.context * (1 if served.shared else served.slots)
    params.use_jinja, params.fit_params, params.warmup = served.jinja, False, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = True
    if served.key:
        params.api_keys = [served.key]
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main()
