"""A program that tries to get out: what comes of it says whether a sandbox holds, which no look at the machine does."""

import os
import socket
import tempfile
from pathlib import Path
from uuid import uuid4

from micro_agent.coding.sandbox.contract import Bounds, Sandbox, SandboxUnavailable, Stage
from micro_agent.coding.sandbox.holding import folder_in

_TRIES = """
exec 2>/dev/null
for path in "$2" "$3" "$4"; do : >"$path" && echo "wrote $path"; done
cat "$5" && echo "read $5"
exec 3<>"/dev/tcp/127.0.0.1/$1" && echo "connected"
: >"$TMPDIR/written" && echo alive
"""
_BOUNDS = Bounds(timeout_s=30.0)


def check(sandbox: Sandbox, root: Path, state: Path) -> None:
    """Let the canary try to write outside, to read our state and to connect.

    Raises:
        SandboxUnavailable: It did one of them, or nothing at all.
    """
    name = f".canary-{uuid4().hex}"
    closed = folder_in(state) / name
    closed.write_text("canary\n", encoding="utf-8")
    got_out = [root / name]
    try:
        with tempfile.TemporaryDirectory() as elsewhere, socket.create_server(("127.0.0.1", 0)) as server:
            paths = [root / name, Path(elsewhere, name), Path.home() / name]
            got_out += paths[1:]
            port = str(server.getsockname()[1])
            argv = ("bash", "-c", _TRIES, "canary", port, *map(str, paths), str(closed))
            ran = sandbox.run([Stage(argv)], "ro", bounds=_BOUNDS)
            written = [str(path) for path in paths if path.exists()]
    finally:
        closed.unlink(missing_ok=True)
        for path in got_out:
            path.unlink(missing_ok=True)
    said = ran.stdout.decode(errors="replace").split("\n")
    wrong = [line for line in said if line.startswith(("read", "connected"))] + [f"wrote {path}" for path in written]
    if wrong:
        raise SandboxUnavailable(f"{sandbox.kind} does not hold: its canary {', '.join(wrong)}")
    if "alive" not in said:
        why = os.fsdecode(ran.stderr).strip()[-300:]
        raise SandboxUnavailable(f"{sandbox.kind} does not work: its canary ended with {ran.exit} {why}".rstrip())
