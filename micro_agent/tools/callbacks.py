"""Code of others that is called in the middle of a run: what it raises is told, and ends neither run nor process."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from typing import TypeVar

_log = logging.getLogger("micro_agent")
_Event = TypeVar("_Event")


def from_outside(error: BaseException) -> bool:
    """Whether an exception that came out of somebody's code may be the user's Ctrl-C, and has to go on its way.

    A signal raises in the main thread alone. On an event loop it is told by cancelling the task, unless Python's own
    handler is in place.
    """
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    return not _on_a_loop() or signal.getsignal(signal.SIGINT) is signal.default_int_handler


def ends_the_program(error: BaseException) -> bool:
    """Whether a callback meant the program: Ctrl-C, or ``sys.exit`` where nothing but the caller's own code runs."""
    if isinstance(error, SystemExit):
        return threading.current_thread() is threading.main_thread() and not _on_a_loop()
    return from_outside(error)


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def described(error: BaseException) -> str:
    """An exception in words, even one whose ``__str__`` fails. It may take its time: that is somebody's code."""
    name = type(error).__name__
    try:
        return f"{name}: {error}".removesuffix(": ")
    except BaseException:  # noqa: BLE001 what has failed already is told as far as it can be
        return name


def told(what: str, call: Callable[[_Event], None]) -> Callable[[_Event], None]:
    """``call`` for the events of one run: what it raises is a warning of the logger, once, and the run goes on."""
    failed = False

    def tell(event: _Event) -> None:
        nonlocal failed
        try:
            call(event)
        except BaseException as error:
            if ends_the_program(error):
                raise
            if not failed:
                _log.warning("%s failed (%s); the run goes on", what, described(error))
            failed = True

    return tell
