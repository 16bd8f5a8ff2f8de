"""What ran in a sandbox, noted with the step of the tool that ran it."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from micro_agent.coding.sandbox.contract import Profile, Ran, Sandbox, Stage
from micro_agent.run import utc_now
from micro_agent.running.asked_within import Program, cut_argv, note_program

_Run = TypeVar("_Run", bound=Callable[..., Ran])


def noted(run: _Run) -> _Run:
    """`Sandbox.run` that notes what it ran; of what could not be set up nothing ran."""

    @wraps(run)
    def noting(self: Sandbox, pipeline: Sequence[Stage], profile: Profile, **options: Any) -> Ran:
        at = utc_now()
        ran = run(self, pipeline, profile, **options)
        argv = [cut_argv(stage.argv) for stage in pipeline]
        note_program(Program(at, self.kind, profile, argv, ran.exit, ran.timed_out, round(ran.duration_s, 4)))
        return ran

    return cast("_Run", noting)
