"""The repository of a task as data: its files, and what was done to them so that there is something to do."""

from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

TEST_CMD = "python3 -m unittest -q"
"""What runs the tests of a repository unless its task says otherwise: it starts in a tenth of the time of pytest."""


def _a_path(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or "\0" in path or path.startswith("/") or ".." in parts or ".git" in parts:
        raise ValueError(f"{path!r} is not a path in a repository; write it from its root, such as src/main.py")
    return path


Path = Annotated[str, BeforeValidator(_a_path, json_schema_input_type=str)]
Files = Annotated[dict[Path, str], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Change(_Strict):
    """A place in a file, and what stands there afterwards."""

    path: Path
    target: str = Field(min_length=1)
    """What stands there: it occurs once in the file."""
    replacement: str

    def applied(self, files: dict[str, str]) -> dict[str, str]:
        """The files with it. Raises `ValueError` where the target does not stand there once."""
        text = files.get(self.path, "")
        if text.count(self.target) != 1:
            raise ValueError(
                f"{self.path}: {self.target[:60]!r} stands there {text.count(self.target)} times, not once"
            )
        return {**files, self.path: text.replace(self.target, self.replacement)}


class Repository(_Strict):
    """A small git repository with one commit, made anew for each trial; it has a remote, origin, beside it."""

    files: Files
    """Its files by path."""
    planted: list[Change] = []
    """What is changed in them beforehand: the bug, or what is missing. Tasks can share ``files`` by a YAML alias."""
    test: str = TEST_CMD
    """The command that runs its tests; it runs in a sandbox without network."""

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        self.contents()
        return self

    def contents(self) -> dict[str, str]:
        """The files as the agent finds them."""
        files = dict(self.files)
        for change in self.planted:
            files = change.applied(files)
        return files
