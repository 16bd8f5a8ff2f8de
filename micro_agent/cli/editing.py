"""Arguments of a call as a person edits them: in an editor, or as one JSON object."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

from micro_agent.errors import ConfigurationError
from micro_agent.text.printable import printable_json


def arguments_of(text: str) -> dict[str, Any]:
    """The JSON object in a text. Raises `ConfigurationError` with one line that says what is wrong with it."""
    try:
        value: object = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"the arguments are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConfigurationError('the arguments are a JSON object, such as {"path": "x"}')
    return cast("dict[str, Any]", value)


def editor_of() -> list[str]:
    """The command that edits a file: that of ``VISUAL``, else of ``EDITOR``; nothing where neither is set.

    Raises:
        ConfigurationError: It is no command.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        return shlex.split(named)
    except ValueError as error:
        raise ConfigurationError(f"VISUAL or EDITOR is no command: {named!a} ({error})") from error


def edited(editor: list[str], args: dict[str, Any]) -> dict[str, Any]:
    """What somebody makes of arguments in an editor. The file is for this user alone, and removed afterwards.

    Raises:
        ConfigurationError: The editor failed, or what it left is no JSON object.
    """
    with tempfile.TemporaryDirectory(prefix="micro-agent-") as folder:
        file = Path(folder, "arguments.json")
        file.write_text(
            printable_json(json.dumps(args, indent=2, ensure_ascii=False)) + "\n", "utf-8", "backslashreplace"
        )
        try:
            ended = subprocess.run([*editor, str(file)], stdout=sys.stderr, check=False)
            if ended.returncode:
                raise ConfigurationError(f"{editor[0]} ended with {ended.returncode}; nothing was changed")
            return arguments_of(file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"the arguments cannot be edited: {error}") from error


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")
