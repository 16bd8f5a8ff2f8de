"""Where the questions of a chat come from: a line editor on a terminal, else the lines of standard input."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from micro_agent.cli.messages import masked
from micro_agent.extras import need

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completion

Read = Callable[[], str | None]
"""Gives the next message; ``None`` at the end."""

_PROMPT, _MORE = "> ", ". "


def piped() -> Read:
    """Each line that is piped in is a message."""
    lines = (line.decode("utf-8-sig", "replace") for line in sys.stdin.buffer)
    return lambda: next(lines, None)


def typed(folder: Path, commands: Iterable[str]) -> Read:
    """What a person types, with line editing. What was typed before is kept in a file of ``folder``, without secrets.

    Enter sends, Alt+Enter or a backslash before Enter begins a new line, and so do line breaks in what is pasted.

    Raises:
        ConfigurationError: prompt_toolkit is not installed.
    """
    session = _session(folder, tuple(commands))

    def read() -> str | None:
        while True:
            try:
                return session.prompt()
            except KeyboardInterrupt:  # the line is gone, and a new one begins
                continue
            except EOFError:
                return None

    return read


def _session(folder: Path, commands: tuple[str, ...]) -> "PromptSession[str]":
    need("chat", "prompt_toolkit", instead="pipe the questions in")
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, PathCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output

    class Typed(FileHistory):
        def store_string(self, string: str) -> None:
            super().store_string(masked(string))

    class Commands(Completer):
        def get_completions(self, document: Document, complete_event: "CompleteEvent") -> Iterator["Completion"]:
            from prompt_toolkit.completion import Completion

            word, space, rest = document.text_before_cursor.partition(" ")
            if space and word.rstrip("!") in ("/save", "/load"):
                yield from PathCompleter(expanduser=True).get_completions(Document(rest), complete_event)
            offered = [name for name in commands if not space and word and name.startswith(word)]
            yield from (Completion(name, -len(word)) for name in offered)

    keys = KeyBindings()

    @keys.add("enter")
    @keys.add("c-j")  # Enter as well, of what was typed while the model was answering
    def _(event: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        event.current_buffer.insert_text("\n")

    session: PromptSession[str] = PromptSession(
        _PROMPT, multiline=True, prompt_continuation=_MORE, key_bindings=keys, history=Typed(_file(folder)),
        completer=Commands(), output=create_output(sys.stderr),
        complete_while_typing=Condition(lambda: session.default_buffer.text.startswith("/")),
    )  # fmt: skip
    return session


def _file(folder: Path) -> str:
    """The file of what was typed, for this user alone. Raises `StorageError`."""
    from micro_agent.files.jsonl import open_file, private_folder, storage_error

    path = folder / "chat_history"
    try:
        private_folder(folder)
        os.close(open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT))
    except OSError as error:
        raise storage_error("open", path, error) from error
    return str(path)
