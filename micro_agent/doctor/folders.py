"""Whether runs can be written down: a file is made, synced and removed in each folder, as a run would do it."""

import shutil
from pathlib import Path

from micro_agent.doctor.check import Check, fail, ok, warn
from micro_agent.storage.probe import nearest, try_writing

LITTLE_SPACE = 100 * 1024 * 1024
"""Bytes. A run takes some kilobytes, so this is room for thousands; a disk this full is about to fail elsewhere."""


def folder(name: str, path: Path, variable: str, *, little: int = LITTLE_SPACE) -> Check:
    """Whether files can be made in ``path``; it is not created. ``variable`` is the setting that names another one.

    Less than ``little`` bytes of free space is worth a warning.
    """
    existing = nearest(path.absolute())
    where = f"{path}" if existing == path.absolute() else f"{path} (to be made in {existing})"
    advice = f"make it writable, or set {variable} to a folder that is"
    try:
        try_writing(existing)
    except OSError as error:
        return fail(name, f"{where} cannot be written: {error.strerror or error}", advice, path=str(path))
    free = shutil.disk_usage(existing).free
    told = f"{where} is writable, {free / 1e9:.1f} GB free"
    if free < little:
        return warn(name, told, f"free some space, or set {variable} to a folder on another disk", path=str(path),
                    free_bytes=free)  # fmt: skip
    return ok(name, told, path=str(path), free_bytes=free)
