"""What all clients share: tasks in, outcomes out. Needs the standard library alone."""

import contextlib
import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.proxy_defects.task import Store

MOST_TURNS = 8
KEY = "sk-of-the-user"


@dataclass(frozen=True, slots=True)
class Task:
    """One task: where the server is (without ``/v1``), the model's name, the ``tool_choice`` of the first request."""

    url: str
    model: str
    choice: str
    store: Store


class GaveUp(Exception):
    """A loop that does not come to an end."""


def serve(do: Callable[[Task], str]) -> None:
    """Do each task of standard input."""
    for line in sys.stdin:
        given: dict[str, Any] = json.loads(line)
        store, told = Store(), {"model": given["model"], "answer": None, "error": None}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                told["answer"] = do(Task(given["url"], given["model"], given["choice"], store))
            except Exception as error:  # noqa: BLE001 - whatever a client raises is what its user sees
                told["error"] = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps(told | {"calls": store.calls}), flush=True)
