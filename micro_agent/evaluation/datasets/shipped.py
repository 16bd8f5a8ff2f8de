"""The tasks that an eval asks when nobody names a file."""

from pathlib import Path

_OWN = Path("evals", "tasks.yaml")
_PACKAGE = Path(__file__).resolve().parents[2]
# A wheel has the folder in the package; a checkout has it beside the package.
_SHIPPED = (_PACKAGE / _OWN, _PACKAGE.parent / _OWN)


def usual_tasks() -> Path:
    """``evals/tasks.yaml`` of the working directory, else the project's own tasks, which ship with the package."""
    return next((path for path in (_OWN, *_SHIPPED) if path.exists()), _OWN)
