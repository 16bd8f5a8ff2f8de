"""What ends a run from outside the loop, as data: no model, no disk, or a person's word."""

from micro_agent.effects import Failure
from micro_agent.errors import StorageError
from micro_agent.models.failures import failure_of
from micro_agent.rules.limits import Limits
from micro_agent.run import Run
from micro_agent.tools import Outcome


def no_reply(error: Exception, run: Run, limits: Limits, *, late: bool) -> Failure:
    """An exception of a model call; ``late``: the time of the run was over by then."""
    failure = failure_of(error, base_url=getattr(error, "server", run.base_url), model=run.model)
    data = {"code": failure.code, "message": failure.message, "retries": getattr(error, "retries", 0)}
    if late:
        told = f"max_time ({limits.max_time:g} s) was over before the model had answered"
        return Failure("max_time", {**data, "code": "max_time", "message": told}, "stopped")
    overflow = failure.reason == "context_overflow"
    return Failure(failure.reason, data, "stopped" if overflow else "failed")


def no_storage(error: StorageError) -> Failure:
    """A run that can no longer be written down: nothing is done that would leave no trace."""
    return Failure("storage_error", {"code": "STORAGE_ERROR", "message": str(error)})


def cancelled(known: Outcome | None = None) -> Failure:
    """A run that was cancelled; ``known``: what is known of the tool that was under way."""
    return Failure("cancelled", {"code": "CANCELLED", "message": "The run was cancelled."}, "stopped", known)
