"""The container image: built by podman on an image of this machine's Python, started without any rights, and asked."""

import fcntl
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from shutil import which
from time import monotonic, sleep
from typing import Any

import pytest

from tests.torture.base_image import base_image

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
NAME = "localhost/micro-agent-tests-image"
PODMAN = ["podman", "--runtime", "runc"]
ULIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
RIGHTLESS = [*ULIMITS, "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
TOKEN = secrets.token_hex(16)
PATIENCE_S = 60.0
LOOK_AROUND = """
import json, os, sys
from importlib.metadata import distributions
from pathlib import Path
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "true"  # as micro-agent has it
import dspy, litellm, micro_agent.server.app, micro_agent.server.serve
loaded = [module.__spec__ for module in sys.modules.values() if getattr(module, "__spec__", None)]
status = dict(line.split(":\\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\\t" in line)
def writable(folder):
    try:
        Path(folder, "written").write_text("")
    except OSError:
        return False
    return True
print(json.dumps({
    "user": os.getuid(), "groups": sorted({os.getgid(), *os.getgroups()}),
    "rights": int(status["CapEff"], 16) | int(status["CapBnd"], 16),
    "writable": [folder for folder in ("/", "/opt/micro-agent", "/usr", "/data", "/data/traces") if writable(folder)],
    "left": [path for path in ("/wheel", "/source", "/build", "/requirements-image.txt") if os.path.exists(path)],
    "installed": [f"{found.name}=={found.version}" for found in distributions()],
    "compiled_at_each_start": [
        spec.name for spec in loaded
        if (spec.cached or "").startswith("/opt/micro-agent/") and not os.path.exists(spec.cached)
    ],
}))
"""


def podman(*args: str, **how: Any) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([*PODMAN, *args], check=False, capture_output=True, text=True, timeout=900, **how)
    assert done.returncode == 0, f"podman {args[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `Dockerfile` builds of these files, once for all workers. Layers are not kept: they cost half the time."""
    for name in ("podman", "runc"):
        if which(name) is None:
            pytest.fail(
                f"there is no {name}: on Debian, apt-get install podman runc uidmap"
            )  # a skipped test proves nothing
    mounts = as_pip_is_here(tmp_path_factory.mktemp("pip"))
    volumes = [word for path, target in mounts.items() for word in ("--volume", f"{path}:{target}:ro")]
    with Path(tempfile.gettempdir(), "micro-agent-tests-image-build.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        base = base_image()
        inputs = digest(base)
        asked = [*PODMAN, "image", "inspect", "--format", '{{index .Labels "inputs"}} {{.Id}}', NAME]
        before = subprocess.run(asked, check=False, capture_output=True, text=True).stdout.split()
        if before[:1] != [inputs]:
            how = ["--format", "docker", "--layers=false", "--label", f"inputs={inputs}", "--network", "host"]
            podman("build", *how, *ULIMITS, *volumes, "--tag", NAME, "--build-arg", f"BASE={base}", ".", cwd=ROOT)
            subprocess.run([*PODMAN, "image", "rm", *before[-1:]], check=False, capture_output=True)
    return NAME


def digest(base: str) -> str:
    """What tells these files, on this base, from others."""
    found = sha256(base.encode())
    let_in = re.findall(r"^!(.+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), flags=re.MULTILINE)
    files = [path for name in ("Dockerfile", *let_in) for path in (ROOT / name, *(ROOT / name).rglob("*"))]
    for path in sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts):
        found.update(f"{path.relative_to(ROOT)} {path.stat().st_mode}\n".encode() + path.read_bytes())
    return found.hexdigest()


def as_pip_is_here(folder: Path) -> dict[str, str]:
    """Write where pip gets packages on this machine, for pip and for uv; what has to be mounted for it, and where."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout  # fmt: skip
    found = dict(re.findall(r"^\S+?\.([\w-]+)='(.*)'$", listed, flags=re.MULTILINE))
    named = {name: found[name] for name in ("index-url", "extra-index-url", "find-links", "cert") if name in found}
    config, uvs = folder / "pip.conf", folder / "uv.toml"
    config.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in named.items()))
    lines = [
        f"{name} = {json.dumps(value if name == 'index-url' else value.split())}\n"
        for name, value in named.items()
        if name != "cert"
    ]
    uvs.write_text('system-certs = true\nindex-strategy = "unsafe-best-match"\n' + "".join(lines))
    paths = [word.removeprefix("file://") for value in named.values() for word in value.split()]
    # A folder `simple` has links to files beside it.
    shown = {os.path.dirname(path) if path.endswith("/simple") else path for path in paths if os.path.exists(path)}
    return {str(config): "/etc/pip.conf", str(uvs): "/etc/uv/uv.toml", **{path: path for path in shown}}


class Served:
    """`serve --provider mock` in a container that holds no rights and can write to its volume only."""

    def __init__(self, image: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        settings = {"MICRO_AGENT_API_TOKEN": TOKEN, "MICRO_AGENT_PORT": str(self.port)}
        words = [word for name, value in settings.items() for word in ("--env", f"{name}={value}")]
        options = ["--detach", "--network", "host", *RIGHTLESS, *words]
        self.container = podman("run", *options, image, "serve", "--provider", "mock").stdout.strip()

    def wait(self) -> None:
        until = monotonic() + PATIENCE_S
        while not self._answers():
            assert monotonic() < until, podman("logs", self.container)
            sleep(0.1)

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "/healthz", token=None)[0] == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answered = connection.getresponse()
            return answered.status, json.loads(answered.read())


@pytest.fixture
def served(image: str) -> Iterator[Served]:
    started = Served(image)
    try:
        started.wait()
        yield started
    finally:
        podman("rm", "--force", "--volumes", started.container)


def test_it_serves_without_rights_until_it_is_stopped(served: Served) -> None:
    """One container for all of it: each start compiles nothing, and yet takes seconds of a core."""
    status, answered = served.ask("POST", "/ask", {"question": "What is 2*(3+5)?"})
    assert (status, answered["answer"]) == (200, "The answer is 16.")
    assert answered["trace_path"].startswith("/data/traces/")
    assert served.ask("GET", f"/trace/{answered['trace_id']}?index=0")[0] == 200
    assert served.ask("GET", "/runs", token=None)[0] == 401
    podman("healthcheck", "run", served.container)
    seen = json.loads(podman("exec", served.container, "python", "-c", LOOK_AROUND).stdout)
    installed = set(seen.pop("installed"))
    assert seen == {
        "user": 10001, "groups": [10001], "rights": 0, "writable": ["/data", "/data/traces"], "left": [],
        "compiled_at_each_start": [],
    }  # fmt: skip
    assert_as_pinned(installed)
    podman("stop", "--time", str(int(PATIENCE_S)), served.container)
    assert podman("inspect", "--format", "{{.State.ExitCode}}", served.container).stdout.strip() == "0"


def assert_as_pinned(installed: set[str]) -> None:
    """Fail if packages are there that are not pinned, or are not there that are pinned for this machine."""
    lock = (ROOT / "requirements-image.txt").read_text(encoding="utf-8")
    pinned, there = ({re.sub(r"[_.]+", "-", word).lower() for word in words} for words in (
        re.findall(r"^[\w.-]+==[^\s;]+", lock, flags=re.MULTILINE), installed
    ))  # fmt: skip
    assert {word for word in there - pinned if not word.startswith("micro-agent==")} == set()
    for_others = re.findall(r"^([\w.-]+)==\S+ ;", lock, flags=re.MULTILINE)
    assert {word.partition("==")[0] for word in pinned - there} <= set(for_others)


def test_without_a_token_it_does_not_listen_for_others(image: str) -> None:
    command = [*PODMAN, "run", "--rm", *RIGHTLESS, "--network", "none", image, "serve", "--provider", "mock"]
    refused = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    assert refused.returncode == 2
    assert "set MICRO_AGENT_API_TOKEN" in refused.stderr


def test_the_tiny_model_answers_without_any_network(image: str) -> None:
    asked = ["ask", "--provider", "tiny", "--json", "What does the kettle cost?"]
    done = podman("run", "--rm", *RIGHTLESS, "--network", "none", "--env", "TEMPERATURE=0", image, *asked)
    assert json.loads(done.stdout)["status"] == "completed"


def test_it_does_not_tell_where_its_packages_came_from(image: str) -> None:
    history = podman("history", "--no-trunc", "--format", "{{.CreatedBy}}", image).stdout
    assert "ENTRYPOINT" in history
    assert "index-url" not in history
