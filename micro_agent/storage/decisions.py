"""Decisions of people about what a run wants to do: one file a question, created once, so that one decider wins.

The file can be made by another process than the one that runs (`micro-agent approve RUN_ID`), also while that one
waits.
"""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, cast, get_args

from micro_agent.errors import AlreadyDecided, ConfigurationError, StorageError
from micro_agent.files.jsonl import open_file, parse, private_folder, storage_error, sync_folder, write_new
from micro_agent.files.masking import Mask
from micro_agent.run import utc_now

Choice = Literal["approve", "reject"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided; ``feedback`` goes to the model. ``args`` are what the call is to be made with instead."""

    decision: Choice
    feedback: str | None = None
    args: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """As it is written down."""
        edited = {} if self.args is None else {"args": self.args}
        return {"decision": self.decision, "feedback": self.feedback, **edited}


def decision_of(decision: object, feedback: object = None, args: object = None) -> Decision:
    """A decision from words.

    Raises:
        ConfigurationError: It is neither "approve" nor "reject", or has arguments that are no object or are rejected.
    """
    if decision not in get_args(Choice):
        raise ConfigurationError(f'a decision is "approve" or "reject", not {decision!r}')
    if args is not None and (decision == "reject" or not isinstance(args, dict)):
        raise ConfigurationError("edited arguments are a JSON object, and go with an approval alone")
    edited = cast("dict[str, Any] | None", args)
    return Decision(cast("Choice", decision), None if feedback is None else str(feedback), edited)


def question_digest(number: int, confirmation: dict[str, Any]) -> str:
    """The sha256 of a run's question: what is asked (``confirmation["sha256"]``) and how many were settled before it.

    The number makes a decision good for one use: the very same call asked about again is another question.
    """
    return sha256(f"{number}:{confirmation['sha256']}".encode()).hexdigest()


def decision_path(folder: Path, run_id: str, digest: str) -> Path:
    """Where the decision about the question of this digest lies."""
    return folder / f"{run_id}.{digest[:16]}.decision"


def create_decision(path: Path, digest: str, decision: Decision, mask: Mask) -> None:
    """Write a decision, all of it or nothing: a synced file beside it gets its name by a link, which replaces nothing.

    Raises:
        AlreadyDecided: there is a decision.
        StorageError: it cannot be written.
    """
    line = mask.encode({"sha256": digest, **decision.data, "t": utc_now()}, note=True)
    temporary = path.with_name(f"{path.name}.{token_hex(4)}.tmp")
    try:
        private_folder(path.parent)
        write_new(temporary, line)
        try:
            os.link(temporary, path)
        finally:
            temporary.unlink()
        sync_folder(path.parent)
    except FileExistsError as error:
        raise AlreadyDecided("this question has been decided already; the first decision stands") from error
    except OSError as error:
        raise storage_error("write the decision", path, error) from error


def read_decision(path: Path, digest: str, mask: Mask) -> Decision | None:
    """The decision about exactly this question; ``None`` when there is none yet.

    Raises:
        StorageError: the file cannot be read or is about something else.
    """
    try:
        with open(open_file(path), "rb") as file:
            data = mask.restore(parse(file.read()))
        if data.get("sha256") != digest:
            raise ValueError("it is about another question")
        return decision_of(data.get("decision"), data.get("feedback"), data.get("args"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error("read the decision", path, error) from error
    except (ValueError, ConfigurationError) as error:
        raise StorageError(f"the decision {path} is damaged: {error}; delete it and decide again") from error
