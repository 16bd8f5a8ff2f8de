"""The tools that run something: commands and tests, through the judge of commands and the sandbox.

What the judge allows runs without a shell, as the argv that was judged. What a person approved runs as the bytes that
were shown. What the judge denies runs nowhere, and nobody is asked about it.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from micro_agent.coding.bounds import tail
from micro_agent.coding.commands import Pipeline, Verdict, classify, program_of
from micro_agent.coding.failures import condensed, shown_failures
from micro_agent.coding.git import disarmed, filters_of
from micro_agent.coding.reports import Counts, read_counts
from micro_agent.coding.sandbox import Bounds, Profile, Ran, Stage
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_SHORTEST_S, _LONGEST_S = 1, 600
_SET_UP_S = 60.0
"""So much longer the loop waits than a command may run: a sandbox has to be set up, and what ran in it has to end."""
_LEAST_S = 0.05
"""What the last pipeline of a command gets where the ones before it took all the time."""
_KEPT = 2_000_000
"""Bytes of each output that are kept while it is read: enough for the reports of all packages of a large project."""
_LONGEST = 30_000
"""Characters of a command: Linux takes 131,072 bytes in one argument."""
_CHARS_OF_JSON = 16_000
_SIGPIPE = 128 + 13
_BASH = ("bash", "--noprofile", "--norc", "-o", "pipefail", "-c")
_WITH_INSTALLED = ("/bin/sh", "-c", 'PATH="$PWD/.venv/bin:$PWD/venv/bin:$PWD/node_modules/.bin:$PATH"; exec "$@"', "sh")
"""Tests are found where a project has them installed, whatever the sandbox mounts where. These programs belong to the
repository, as the tests do: they run where tests run, in a sandbox that enforces, and nowhere else."""


class Stopped(ToolError):
    """A command was killed for its time. The model sees what it had printed by then."""

    def __init__(self, cmd: str, timeout: float, shown: dict[str, Any]) -> None:
        super().__init__("CMD_TIMEOUT", f"{cmd!r:.200} did not end within {timeout:g} s; all of it was killed")
        self.shown = shown

    def observation(self) -> dict[str, Any]:
        """The error, and the tails of both outputs."""
        return {**super().observation(), **self.shown}


@dataclass(slots=True)
class _Printed:
    """What came of a command so far."""

    exit: int | None = 0
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    dropped: bool = False
    notes: list[str] = field(default_factory=list[str])

    def add(self, ran: Ran) -> None:
        self.exit, self.timed_out = ran.exit, ran.timed_out
        self.stdout += ran.stdout
        self.stderr += ran.stderr
        self.dropped = self.dropped or ran.stdout_bytes > len(ran.stdout) or ran.stderr_bytes > len(ran.stderr)

    def texts(self) -> tuple[str, str]:
        return self.stdout.decode(errors="replace"), self.stderr.decode(errors="replace")

    def tails(self) -> dict[str, Any]:
        """Both ends, and ``truncated`` where something is missing; ``note`` where the exit status needs one."""
        (out, out_cut), (err, err_cut) = (tail(text) for text in self.texts())
        shown: dict[str, Any] = {"stdout_tail": out, "stderr_tail": err}
        if out_cut or err_cut or self.dropped:
            shown["truncated"] = True
        if self.notes:
            shown["note"] = " ".join(self.notes)
        return shown


def tools(place: Workplace) -> list[Tool]:
    """``run_cmd`` and ``run_tests`` of one repository."""
    runner = _Runner(place)
    return [
        _tool(
            runner, "run_cmd", runner.run_cmd, 60,
            "Run one command at the root of the repository, without network. Simple reads (ls, grep, git log) run at "
            "once; others wait for a person.",
        ),
        _tool(runner, "run_tests", runner.run_tests, 300, "Run the tests of the repository.", default="pytest -q"),
    ]  # fmt: skip


def _tool(
    runner: "_Runner", name: str, handler: Callable[..., Any], timeout: int, description: str, *, default: str = ""
) -> Tool:
    cmd, command = ("test_cmd", {"default": default}) if default else ("cmd", {})
    asked = {"type": "number", "minimum": _SHORTEST_S, "maximum": _LONGEST_S, "default": timeout}
    parameters = {
        "type": "object",
        "properties": {
            cmd: {
                "type": "string",
                "minLength": 1,
                "maxLength": _LONGEST,
                "description": "the command as in a shell",
                **command,
            },
            "timeout": {**asked, "description": "seconds until it is killed"},
        },
        "required": [] if default else [cmd],
        "additionalProperties": False,
    }
    return Tool(
        name, description, parameters, handler,
        requires_confirmation=lambda args: runner.asks(args.get(cmd, default)),
        preview=lambda args: runner.preview(args.get(cmd, default)),
        timeout_s=_LONGEST_S + _SET_UP_S, max_chars=_CHARS_OF_JSON,
    )  # fmt: skip


class _Runner:
    """Runs what the judge says may run.

    A command is judged once: whoever asked a person and whoever runs it afterwards go by the same verdict.
    """

    def __init__(self, place: Workplace) -> None:
        self._place = place
        enforces = place.sandbox.enforces
        judge = partial(_judge, sandboxed=enforces, root=place.root)
        self._judged: Callable[[str], Verdict] = lru_cache(maxsize=256)(judge)

    def asks(self, cmd: str) -> bool:
        """Whether a person has to approve: never where it would not run afterwards either."""
        return self._judged(cmd).action == "require_approval" and self._place.sandbox.enforces

    def preview(self, cmd: str) -> dict[str, Any]:
        """What a person is shown: the command itself, and where it would run."""
        return {
            "kind": "command",
            "id": command_id(cmd),
            "text": cmd,
            "cwd": str(self._place.root),
            "sandbox": {"kind": self._place.sandbox.kind, "profile": "rw-repo"},
            "reason": self._judged(cmd).reason,
        }

    def run_cmd(self, cmd: str, timeout: float = 60) -> dict[str, Any]:
        printed = self._ran(cmd, timeout)
        return {"cmd": cmd, "exit": printed.exit, **printed.tails()}

    def run_tests(self, test_cmd: str = "pytest -q", timeout: float = 300) -> dict[str, Any]:
        printed = self._ran(test_cmd, timeout)
        # With something missing in the middle, the reports that are left may not be all.
        output = "\n".join(printed.texts())
        counts = Counts() if printed.dropped else read_counts(output, test_cmd)
        # `pytest; true` exits with 0: what the report says counts as well.
        ok = printed.exit == 0 and not counts.failed
        found = {"ok": ok, "cmd": test_cmd, "exit": printed.exit, "passed": counts.passed, "failed": counts.failed}
        failures = [] if ok else shown_failures(condensed(output, test_cmd, root=str(self._place.root)))
        return {**found, **({"failures": failures} if failures else {}), **printed.tails()}

    def _ran(self, cmd: str, timeout: float) -> _Printed:
        verdict = self._judged(cmd)
        if verdict.action == "deny":
            raise ToolError("COMMAND_DENIED", f"this command never runs here: {verdict.reason}")
        if verdict.action == "allow":
            printed = self._allowed(verdict, timeout)
        elif self._place.sandbox.enforces:
            printed = self._approved(cmd, timeout)
        else:
            raise ToolError(
                "SANDBOX_UNAVAILABLE",
                f"no sandbox here holds what this command may do, so only plain reads run ({verdict.reason})",
            )
        if printed.timed_out:
            raise Stopped(cmd, timeout, printed.tails())
        return printed

    def _approved(self, cmd: str, timeout: float) -> _Printed:
        """The bytes that a person was shown, in the one sandbox that keeps what is written."""
        printed = _Printed()
        printed.add(self._run([Stage((*_BASH, cmd))], "rw-repo", timeout, self._toolchains()))
        return printed

    def _allowed(self, verdict: Verdict, timeout: float) -> _Printed:
        """Each pipeline that was judged, in turn, as bash goes on or not; the exit status is that of the last one.

        Tests run in ``try``, not in ``rw-repo``, since nobody is asked: a test, or a conftest.py that came with the
        repository, could rewrite the sources, and a change that no person approved would stand there. The price is
        that caches (.pytest_cache, target/) are not kept.
        """
        profile: Profile = "try" if verdict.tests else "ro"
        env = self._toolchains() if verdict.tests else _git_disarmed(self._place, verdict)
        found = _installed if verdict.tests else self._outside
        printed, ends = _Printed(), time.monotonic() + timeout
        for pipeline in verdict.pipelines:
            if (pipeline.after, printed.exit == 0) in (("&&", False), ("||", True)):
                continue
            left = max(ends - time.monotonic(), _LEAST_S)
            printed.add(self._run([found(stage) for stage in pipeline.stages], profile, left, env))
            if printed.timed_out:
                break
            printed.notes += _notes(pipeline, printed.exit)
        return printed

    def _run(self, stages: Iterable[Stage], profile: Profile, timeout: float, env: Mapping[str, str]) -> Ran:
        bounds = Bounds(timeout_s=timeout, output=_KEPT)
        return self._place.sandbox.run(list(stages), profile, env=env, bounds=bounds)

    def _outside(self, stage: Stage) -> Stage:
        """The stage with the file of its program, which the repository cannot have changed. Containers have their own.

        One that is not there fails in the sandbox, as it does in a shell.
        """
        with suppress(FileNotFoundError):
            if self._place.sandbox.kind != "container":
                program = program_of(stage.argv[0], self._place.root)
                return replace(stage, argv=(str(program), *stage.argv[1:]))
        return stage

    def _toolchains(self) -> dict[str, str]:
        """Where the user's compilers and packages are. Their home is another one in there, a container has its own."""
        return {} if self._place.sandbox.kind == "container" else _installed_at_home()


def _judge(cmd: str, *, sandboxed: bool, root: Path) -> Verdict:
    """The verdict of the judge; of what no program can be given as an argument, nobody is asked."""
    try:
        if "\0" not in cmd and cmd.encode():
            return classify(cmd, sandboxed=sandboxed, root=root)
    except UnicodeEncodeError:
        pass
    return Verdict("deny", "it holds a NUL or half a character, or nothing at all")


def command_id(text: str) -> str:
    """The id of a command that a person is asked about: ``cmd_`` and 10 hex digits of its sha256."""
    return f"cmd_{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


@cache
def _in_homes() -> dict[str, str]:
    return json.loads(Path(__file__).with_name("installed.json").read_text(encoding="utf-8"))


def _installed_at_home() -> dict[str, str]:
    found = {name: os.environ.get(name) or os.path.expanduser(f"~/{folder}") for name, folder in _in_homes().items()}
    return {"CARGO_NET_OFFLINE": "true", **{name: path for name, path in found.items() if os.path.isdir(path)}}


def _git_disarmed(place: Workplace, verdict: Verdict) -> dict[str, str]:
    """The variables for git alone: what else sorts and prints goes by the sandbox's own."""
    programs = {stage.argv[0] for pipeline in verdict.pipelines for stage in pipeline.stages}
    filters = filters_of(place) if "git" in programs else ()
    return {name: value for name, value in disarmed(filters).items() if name.startswith("GIT_")}


def _installed(stage: Stage) -> Stage:
    return replace(stage, argv=(*_WITH_INSTALLED, *stage.argv))


def _notes(pipeline: Pipeline, exit_status: int | None) -> list[str]:
    """What a model has to be told about the exit status of a pipeline, which shells report in another way."""
    if len(pipeline.stages) == 1 or not exit_status:
        return []
    last = pipeline.stages[-1].argv[0]
    if exit_status == _SIGPIPE:
        return [f"Exit {exit_status}: `{last}` had read enough and ended first, which stopped a program before it."]
    return [f"Exit {exit_status} is that of the last program of the pipeline that failed, not always of `{last}`."]
