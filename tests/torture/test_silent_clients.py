"""Crowds of clients that send nothing, too little or read nothing. Others are served meanwhile, and nothing stays."""

import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.torture

TOKEN = "a-token-for-the-tests"
CROWD = 1500
FILES = 1024
"""What a process may open where nobody has raised it; it is raised no further here."""
HEAD = b"Host: localhost\r\n"
MB = 1024 * 1024
CROWDS = {
    "silent": b"",
    "half a request line": b"GET /heal",
    "half a head": b"GET /healthz HTTP/1.1\r\n" + HEAD,
    "half a body, no token": b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: 900\r\n\r\n{",
    "half a body": b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\n"
    b"Authorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 900\r\n\r\n{",
    "answers that nobody reads": (b"GET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n") * 3,
    "long answers that nobody reads": (
        b"GET /openapi.json HTTP/1.1\r\n" + HEAD + b"Authorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
    ) * 12,
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "two lengths": b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
}  # fmt: skip


@dataclass
class Server:
    """`micro-agent serve` in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def asked(self) -> str:
        """The answer to a client that behaves."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as client:
            client.request("POST", "/ask", json.dumps({"question": "What is 2*8?"}), headers)
            return json.loads(client.getresponse().read())["answer"]

    def files(self) -> int:
        """How many files and connections it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self) -> int:
        """The bytes that it holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    environment = {
        **os.environ, "HOME": str(folder), "MICRO_AGENT_API_TOKEN": TOKEN, "MICRO_AGENT_HEADER_TIMEOUT": "3",
        "MICRO_AGENT_BODY_TIMEOUT": "3", "MICRO_AGENT_SEND_TIMEOUT": "2",
    }  # fmt: skip
    command = [sys.executable, "-m", "micro_agent", "serve", "--provider", "mock", "--port", "0"]
    log = folder / "stderr"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stderr=errors,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
        )  # fmt: skip
    try:
        while b"listens on" not in (said := log.read_bytes()):
            assert process.poll() is None, said
            time.sleep(0.05)
        yield Server(process, int(said.split(b":")[-1]), log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def room() -> Iterator[None]:
    """As many descriptors as the crowd takes in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * CROWD:
        pytest.skip(f"this machine lets a process open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * CROWD), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("sent", CROWDS.values(), ids=CROWDS.keys())
def test_a_crowd_locks_out_nobody_and_leaves_nothing(server: Server, sent: bytes) -> None:
    assert server.asked() == "The answer is 16."
    before, said = server.files(), server.log.stat().st_size
    most = memory = 0
    held = server.memory()
    with ExitStack() as stack:
        for number in range(CROWD if len(sent) < 1000 else CROWD // 5):  # what is answered takes its time
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(10)
            with suppress(ConnectionError, TimeoutError):
                client.connect(("127.0.0.1", server.port))
                client.settimeout(0)
                client.send(sent)
            if number % 100 == 99:
                assert server.asked() == "The answer is 16."
                most, memory = max(most, server.files()), max(memory, server.memory())
        end = time.monotonic() + 20
        while server.files() > before + 20:  # the crowd is still there, but the server has let go of it
            assert time.monotonic() < end, server.files()
            time.sleep(0.1)
        assert server.asked() == "The answer is 16."
    assert most < FILES * 3 // 4
    assert memory - held < 200 * MB
    assert server.log.stat().st_size == said, server.log.read_text()[-2000:]
