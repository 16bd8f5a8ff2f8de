"""What training asked for, kept as it comes: a compilation that was killed is done again without asking again."""

import os
from pathlib import Path
from typing import Any, Self

from micro_agent.errors import RunBusy
from micro_agent.files.jsonl import append, open_file, read_lines, storage_error
from micro_agent.files.masking import mask_of
from micro_agent.storage.locks import hold


class Kept:
    """A file of JSON lines ``{key, …}``, held by one process at a time. Secrets are masked in it.

    Raises:
        RunBusy: Another process has it open.
        StorageError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, dict[str, Any]] = {}
        try:
            self._descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except OSError as error:
            raise storage_error("open", path, error) from error
        try:
            hold(self._descriptor, path)
        except RunBusy:
            os.close(self._descriptor)
            raise RunBusy(f"another process works on {path.parent}: wait for it, or end it first") from None
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            for line in read_lines(file):
                if line.data is not None and isinstance(line.data.get("key"), str):
                    self._entries[line.data["key"]] = mask_of().restore(line.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def get(self, key: str) -> dict[str, Any] | None:
        """What was kept under a key, latest first."""
        return self._entries.get(key)

    def put(self, key: str, **entry: Any) -> None:
        """Keep something. Raises `StorageError`; then it is not in the file."""
        append(self._descriptor, mask_of().encode({"key": key, **entry}, note=True), self._path)
        self._entries[key] = {"key": key, **entry}
