"""The tasks that an eval asks when nobody names a file."""

from pathlib import Path

_OWN = Path("evals", "tasks.yaml")
_CODING = Path("evals", "coding", "tasks.yaml")
_PACKAGE = Path(__file__).resolve().parents[2]
# A wheel has the folder in the package; a checkout has it beside the package.
_SHIPPED = (_PACKAGE, _PACKAGE.parent)


def usual_tasks() -> Path:
    """``evals/tasks.yaml`` of the working directory, else the project's own tasks, which ship with the package."""
    return next((path for path in (_OWN, *(folder / _OWN for folder in _SHIPPED)) if path.exists()), _OWN)


def coding_tasks() -> Path:
    """``evals/coding/tasks.yaml`` as it ships with the package: the suite ``coding``."""
    return next(path for folder in _SHIPPED if (path := folder / _CODING).exists())
