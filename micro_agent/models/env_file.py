"""The file of settings in the working directory: it comes with the folder, so it is looked at before it is read."""

import os
from pathlib import Path

from micro_agent.errors import ConfigurationError
from micro_agent.files.jsonl import open_file

MAX_BYTES = 1 << 20
"""Far more than settings need."""


def check_env_file(path: str) -> bool:
    """Whether ``path`` is a file that can be read; a folder (some call their virtual environment so) counts as none.

    Raises:
        ConfigurationError: It is a pipe, a device, a socket or too large, which could hold up the process for ever; or
            it cannot be opened.
    """
    if Path(path).is_dir():
        return False
    try:
        descriptor = open_file(Path(path))
        size = os.fstat(descriptor).st_size
        os.close(descriptor)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}; move it away") from error
    if size > MAX_BYTES:
        raise ConfigurationError(f"{path} cannot be read: it is larger than {MAX_BYTES:,} bytes; move it away")
    return True
