"""What a worker does: it checks that it is set up as the driver is, asks, scores, and encodes what it sends back."""

import os
import platform
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError, MicroAgentError
from micro_agent.evaluation.result import Rubric
from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.code import differences
from micro_agent.evaluation.workers.crew import Back, Refused
from micro_agent.evaluation.workers.tried import Ask, DamagesOf, tried
from micro_agent.files.masking import mask_of
from micro_agent.traces import TraceStore


class Asking(Protocol):
    """Who asks, in the process of a worker."""

    @property
    def ask(self) -> Ask:
        """Asks a trial."""
        ...

    @property
    def damages_of(self) -> DamagesOf | None:
        """What was damaged in a run, in an eval with faults."""
        ...

    def close(self) -> None:
        """Remove what was made for asking: it is over."""
        ...


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a worker is told once. No secret is in it: keys are in the environment of the worker.

    Attributes:
        make: Makes who asks. It is found by its import name in the process of the worker.
        given: What ``make`` takes.
        rubric: How checks count.
        code: The digests that the worker must have too, see `micro_agent.evaluation.workers.code`.
        modules: The tools that are named, for their digest.
        folder: The working directory of the driver; a worker goes there if there is one of this name.
        traces: The folder that the results name as that of the traces; ``None``: no traces are made.
    """

    make: Callable[[Any], Asking]
    given: Any
    rubric: Rubric
    code: dict[str, str]
    modules: tuple[str, ...]
    folder: str
    traces: str | None


class Worker:
    """Asks trials, several at once in threads of its process. It is set up with its first trial, once."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._asking: Asking | None = None
        self._store = None if setup.traces is None else TraceStore(setup.traces)
        self._cancel, self._lock = Cancel(), Lock()

    def ready(self) -> None:
        """Nothing: it can be asked this once it is up."""

    def ask(self, trial: Trial) -> Back:
        """Ask a trial. It raises nothing: an error that leaves a worker would be logged unmasked."""
        try:
            with self._lock:
                if self._asking is None:
                    self._asking = self._made()
            back = tried(
                trial, self._asking.ask, self._cancel, rubric=self._setup.rubric, store=self._store,
                damages_of=self._asking.damages_of,
            )  # fmt: skip
        except MicroAgentError as error:
            return _refused(str(error), setup=isinstance(error, ConfigurationError))
        except BaseException as error:  # noqa: BLE001 - the driver raises it
            told = "".join(traceback.format_exception(error)).rstrip()
            return _refused(f"a defect, not of the model's:\n{told}", setup=False)
        return back and back.without_result()

    def cancel(self) -> None:
        """Have the runs under way end."""
        self._cancel.set()

    def close(self) -> None:
        """It is over."""
        if self._asking is not None:
            self._asking.close()

    def _made(self) -> Asking:
        setup = self._setup
        if Path(setup.folder).is_dir():
            os.chdir(setup.folder)
        if differing := differences(setup.code, setup.modules):
            raise ConfigurationError(f"it is not set up as the driver is: {'; '.join(differing)}")
        return setup.make(setup.given)


def _refused(message: str, *, setup: bool) -> Refused:
    return Refused(mask_of().text(f"the worker on {platform.node()}: {message}"), setup)
