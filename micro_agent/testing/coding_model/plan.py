"""What a good solver would do about one task."""

from pydantic import BaseModel, ConfigDict, model_validator


class Edit(BaseModel):
    """One change of a file: ``target``, which stands there once, becomes ``replacement``.

    An empty ``target`` makes the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    target: str
    replacement: str


class Plan(BaseModel):
    """How a task is done, and one way to do it wrong.

    Attributes:
        search: The pattern that finds the place; empty: nothing is searched.
        read: The files to read, from the root of the repository, in this order.
        edits: The changes that do the task.
        wrong: Changes that look like them and leave the tests failing. Without any, this mistake is not made.
        test: The command that runs the tests; empty: what the tool runs by default.
        answer: What is said at the end. It is said too where the model ends too early.
        needs_change: Whether there is something to change at all; otherwise the answer says why there is not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    search: str = ""
    read: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    wrong: tuple[Edit, ...] = ()
    test: str = ""
    answer: str
    needs_change: bool = True

    @model_validator(mode="after")
    def _says_what_to_change(self) -> "Plan":
        if self.needs_change != bool(self.edits):
            raise ValueError("edits must say what to change where needs_change is true, and be empty where it is false")
        return self
