"""How sandboxes run programs: what reaches them, what comes back, what they may use, and that nothing is left."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from micro_agent.coding.sandbox import Bounds, Kind, Ran, Sandbox, Stage
from tests.coding.sandbox_kinds import LONG, PYTHON, Place, made_place, run, running
from tests.warm import Warm

KINDS: tuple[Kind, ...] = ("bwrap", "landlock")
STRANGE = (
    "a b",
    "",
    "$(id)",
    "`id`",
    "-e",
    "--",
    "'",
    '"',
    "\\",
    "*",
    "~",
    ";",
    "|",
    "\n",
    "é",
    "\x01",
    "%s",
    "!x",
    "=",
)
KEPT = Bounds(timeout_s=120.0, output=1000)


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest, place: Place) -> Sandbox:
    """The kinds that run programs in ways of their own; ``clone`` and containers use the launcher of Landlock."""
    return place.sandbox(request.param)


def wait_until(holds: Callable[[], object]) -> None:
    """Wait for something, as long as a very busy machine needs."""
    until = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.03)


def bash(sandbox: Sandbox, script: str, *arguments: str, bounds: Bounds = LONG, stdin: bytes = b"") -> Ran:
    return run(sandbox, "bash", "-c", script, "bash", *arguments, bounds=bounds, stdin=stdin)


def test_arguments_streams_and_statuses(place: Place, sandbox: Sandbox) -> None:
    printed = run(sandbox, "printf", "%s\\0", *STRANGE)
    assert printed.stdout.split(b"\0")[:-1] == [os.fsencode(argument) for argument in STRANGE]
    assert (printed.exit, printed.stderr, printed.timed_out) == (0, b"", False)
    statuses = {"kill -SEGV $$": 139, "exec nosuch": 127, "read -r line || exit 3": 3}
    usual = {"exit 7": 7, "kill -9 $$": 137, "exit 125": 125, "exit 255": 255}
    statuses |= usual if sandbox.kind == "bwrap" else {}
    assert {script: bash(sandbox, script).exit for script in statuses} == statuses
    for name in ("nosuch", "--", "", "/nosuch", "-c")[: None if sandbox.kind == "bwrap" else 1]:
        missing = run(sandbox, name)
        assert (missing.exit, missing.stderr.decode()) == (127, f"{name}: command not found\n")
    echoed = bash(sandbox, "cat; echo err >&2", stdin=b"in" * 500_000)
    assert (echoed.stdout_bytes, echoed.stderr) == (1_000_000, b"err\n")
    assert run(sandbox, "true", stdin=b"in" * 500_000).exit == 0
    assert sandbox.run([Stage(("pwd",))], "ro", cwd="src").stdout.decode() == f"{place.root}/src\n"
    told = sandbox.run([Stage(("env",))], "ro", env={"TOLD": "a=b", "LANG": "C"}).stdout.decode().split("\n")
    assert {"TOLD=a=b", "LANG=C", "TERM=dumb"} <= set(told)
    for cwd in ("..", "/", "src/../..", "nosuch", "a.txt"):
        with pytest.raises(ValueError, match="repository"):
            sandbox.run([Stage(("true",))], "ro", cwd=cwd)


def test_pipelines(place: Place) -> None:
    """The same script runs them in every kind."""
    sandbox = place.sandbox("bwrap")

    def piped(*stages: Stage) -> tuple[int | None, bytes, bytes]:
        ran = sandbox.run(stages, "ro", bounds=LONG)
        return ran.exit, ran.stdout, ran.stderr

    def script(text: str, **named: str) -> Stage:
        return Stage(("bash", "-c", text), **named)  # pyright: ignore[reportArgumentType]

    assert piped(script("echo b; echo a"), Stage(("sort",)), Stage(("tr", "a", "$x"))) == (0, b"$\nb\n", b"")
    assert piped(script("exit 3"), script("exit 4"), Stage(("cat",)))[0] == 4
    assert piped(script("kill -9 $$"), Stage(("cat",))) == (137, b"", b"")
    assert piped(Stage(("nosuch",)), Stage(("cat",))) == (127, b"", b"nosuch: command not found\n")
    assert piped(Stage(("yes",)), Stage(("head", "-n", "1"))) == (141, b"y\n", b"")
    both = "echo out; echo err >&2"
    assert piped(script(both, stderr="stdout"), Stage(("sort",))) == (0, b"err\nout\n", b"")
    assert piped(script(both, stderr="null"), Stage(("sort",))) == (0, b"out\n", b"")
    assert piped(script(both), script("cat; echo err2 >&2", stderr="null")) == (0, b"out\n", b"err\n")
    assert piped(*[Stage(("cat",), "stdout")] * 20, Stage(("echo", "end"))) == (0, b"end\n", b"")


def test_what_is_kept_of_an_output(place: Place) -> None:
    sandbox = place.sandbox("bwrap")
    ran = bash(sandbox, "seq 100000; seq 5 >&2", bounds=KEPT)
    whole = b"".join(b"%d\n" % number for number in range(1, 100_001))
    assert (ran.stdout, ran.stdout_bytes) == (whole[:500] + whole[-500:], len(whole))
    assert (ran.stderr, ran.stderr_bytes) == (b"1\n2\n3\n4\n5\n", 10)
    assert bash(sandbox, "seq 200", bounds=Bounds(120.0, output=0)).stdout == b""
    assert bash(sandbox, "seq 200", bounds=Bounds(120.0, output=3)).stdout == b"1\n0\n"[:2] + b"\n"


def test_nothing_is_left_of_what_ran(place: Place, sandbox: Sandbox) -> None:
    mark = f"3{os.getpid()}{time.monotonic_ns()}"
    left = f"setsid sleep {mark} >/dev/null & (trap '' TERM HUP INT; exec sleep {mark}) & "
    ran = bash(sandbox, left + "exit 5", bounds=LONG)
    assert (ran.exit, running(mark)) == (5, [])
    ran = bash(sandbox, left + f"echo out; sleep {mark}", bounds=Bounds(timeout_s=1.0))
    assert (ran.exit, ran.timed_out, running(mark)) == (None, True, [])
    ran = bash(sandbox, left + "exec >&- 2>&-; sleep 60", bounds=Bounds(timeout_s=1.0))
    assert (ran.exit, ran.timed_out, running(mark)) == (None, True, [])
    assert run(sandbox, "yes", bounds=Bounds(timeout_s=0.0)).timed_out
    assert os.listdir(place.state / "sandbox") in ([], ["view"])


OURS = """
import sys
from pathlib import Path
from micro_agent.coding.sandbox import Bounds, Stage, choose
kind, root, state, mark = sys.argv[1:]
script = f"setsid sleep {mark} & setsid -f sleep {mark} >/dev/null 2>&1 <&1; sleep {mark}"
sandbox = choose(kind, Path(root), state=Path(state))
sandbox.run([Stage(("bash", "-c", script))], "rw-repo", bounds=Bounds(timeout_s=600.0))
"""


def test_nothing_outlives_our_own_process(place: Place, sandbox: Sandbox, warm: Warm) -> None:
    mark = f"4{os.getpid()}{time.monotonic_ns()}"
    ours = warm.start("-c", OURS, sandbox.kind, place.root, place.state, mark)
    wait_until(lambda: len([pid for pid in running(mark) if "sleep" in command(pid)]) >= 3)
    assert place.status() == ""  # nor does anybody see what keeps the names of policies
    ours.kill()
    ours.wait()
    wait_until(lambda: not running(mark))
    assert run(sandbox, "true").exit == 0
    assert ".envrc" not in os.listdir(place.root)


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize(("kind", "number"), [("bwrap", signal.SIGKILL), ("landlock", signal.SIGTERM)])
def test_a_sandbox_that_is_killed_leaves_nothing(place: Place, kind: Kind, number: int) -> None:
    sandbox = place.sandbox(kind)
    mark = f"5{os.getpid()}{time.monotonic_ns()}"
    found: list[Ran] = []
    thread = threading.Thread(target=lambda: found.append(bash(sandbox, f"setsid sleep {mark} & sleep {mark}")))
    thread.start()
    wait_until(lambda: len([pid for pid in running(mark) if "sleep" in command(pid)]) >= 2)
    first = min(pid for pid in running(mark) if command(pid) in ("bwrap\n", "bash\n"))
    launcher = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(first if kind == "bwrap" else launcher, number)
    thread.join()
    assert (found[0].exit, found[0].timed_out, running(mark)) == (137, False, [])


MEMORY = "held = bytearray(900_000_000)"
FORKED = """
import os, time
for _ in range(4):
    if not os.fork():
        held = bytearray(b"x") * 60_000_000
        time.sleep(60)
os.wait()
"""
SHARED = """
import mmap, time
held = mmap.mmap(-1, 300_000_000)
for _ in range(300):
    held.write(b"x" * 1_000_000)
time.sleep(60)
"""


def test_what_a_program_may_use(place: Place, sandbox: Sandbox) -> None:
    def python(script: str, bounds: Bounds) -> Ran:
        return run(sandbox, PYTHON, "-I", "-S", "-c", script, bounds=bounds)

    little = Bounds(timeout_s=120.0, memory=200_000_000)
    alone = python(MEMORY, little)
    assert (alone.exit, b"MemoryError" in alone.stderr) == (1, True)
    assert [python(script, little).exit for script in (FORKED, SHARED)] == [137, 137]
    many = bash(sandbox, "for n in {1..60}; do sleep 60 & done; wait", bounds=Bounds(120.0, processes=30))
    assert many.exit == 137 or b"fork" in many.stderr  # root is not refused any: all are killed
    large = bash(sandbox, 'head -c 5000000 /dev/zero >"$TMPDIR/x"', bounds=Bounds(120.0, file_size=2_000_000))
    assert large.exit == 153  # SIGXFSZ
    fill = 'for n in {1..20}; do head -c 1000000 /dev/zero >"$TMPDIR/$n" || exit 9; done'
    full = bash(sandbox, fill, bounds=Bounds(120.0, disk=8_000_000))
    assert full.exit == (9 if sandbox.kind == "bwrap" else 0)  # the others have no file system of their own
    if sandbox.kind != "bwrap":
        return
    busy = bash(sandbox, "ulimit -t; ulimit -c; ulimit -n", bounds=Bounds(timeout_s=1.0)).stdout.split()
    assert busy == [b"%d" % ((os.cpu_count() or 1) + 10), b"0", b"1024"]


def test_a_trial_is_bounded_as_well(place: Place) -> None:
    fill = "for n in {1..20}; do head -c 1000000 /dev/zero >out-$n || exit 9; done"
    ran = place.sandbox("bwrap").run([Stage(("bash", "-c", fill))], "try", bounds=Bounds(120.0, disk=8_000_000))
    assert (ran.exit, place.status()) == (9, "")


def test_programs_side_by_side(place: Place) -> None:
    """The names of policies are kept until the last one has ended."""
    sandbox = place.sandbox("bwrap")
    keeps = 'touch "$0"; until [ -e out/go ]; do sleep 0.01; done; echo x >.envrc || mkdir .vscode || exit 9'
    (place.root / "out").mkdir()
    found: list[int | None] = []

    def keep(name: str) -> None:
        found.append(sandbox.run([Stage(("bash", "-c", keeps, f"out/{name}"))], "rw-repo", bounds=LONG).exit)

    threads = [threading.Thread(target=keep, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(os.listdir(place.root / "out")) == 2)
    short = sandbox.run([Stage(("bash", "-c", "echo x >.envrc"))], "rw-repo", bounds=LONG)
    assert short.exit == 1
    assert (place.root / ".envrc").is_socket()
    (place.root / "out" / "go").touch()
    for thread in threads:
        thread.join()
    assert found == [9, 9]
    assert sorted(os.listdir(place.root)) == [
        ".env", ".git", ".github", ".gitignore", "a.txt", "lib", "out", "src",
    ]  # fmt: skip


def test_a_path_with_any_signs(tmp_path: Path) -> None:
    place = made_place(tmp_path, "a, b:c'\"\\ é\n$x")
    for kind in (*KINDS, "clone"):
        ran = place.sandbox(kind).run([Stage(("bash", "-c", "pwd; echo >>a.txt && cat a.txt"))], "try", bounds=LONG)
        assert ran.stdout.decode().endswith("\na\n\n"), ran
        assert place.status() == ""
