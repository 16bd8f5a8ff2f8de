"""The classes of damage that `FaultyLM` does to replies: each a module with ``damage(said, rng)``, one shape for all.

A damage changes how something is said, never what is meant, but for `LOSES`: there the model has to be asked again.
"""

from collections.abc import Callable, Iterable
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.errors import ConfigurationError
from micro_agent.testing.damage import (
    answer_beside_call,
    arguments_as_text,
    broken_json,
    code_fences,
    cut_off,
    dialect,
    double_encoding,
    empty,
    endless_thinking,
    extra_arguments,
    in_a_string,
    markdown_escapes,
    misplaced_arguments,
    other_keys,
    positional,
    prose,
    python_literals,
    repetition,
    text_between_calls,
    thinking,
    tool_name,
    wrong_types,
)
from micro_agent.testing.damage.said import Said, said

__all__ = ["CLASSES", "LOSES", "Damage", "Said", "checked", "damaged", "said"]

Damage = Callable[[Said, Random], ModelReply | None]
"""Makes the damaged reply; ``None`` where the class does not apply to what is said."""

_MODULES = (
    prose, python_literals, in_a_string, code_fences, arguments_as_text, double_encoding, positional, markdown_escapes,
    broken_json, wrong_types, misplaced_arguments, other_keys, tool_name, extra_arguments, thinking, endless_thinking,
    text_between_calls, answer_beside_call, repetition, cut_off, empty, dialect,
)  # fmt: skip
CLASSES: dict[str, Damage] = {module.__name__.rpartition(".")[2]: module.damage for module in _MODULES}
"""The damages by the names of their classes."""
LOSES = frozenset({"endless_thinking", "cut_off", "empty"})
"""The classes after which what was said cannot be known."""


def checked(names: Iterable[str] | None) -> tuple[str, ...]:
    """The names of the classes to draw from, all of them for ``None``.

    Raises:
        ConfigurationError: One of them is not a class, or there is none.
    """
    chosen = tuple(CLASSES if names is None else dict.fromkeys(names))
    unknown = [name for name in chosen if name not in CLASSES]
    if unknown or not chosen:
        told = f"there is no class of damage {unknown[0]!r}" if unknown else "no class of damage was named"
        raise ConfigurationError(f"{told}: use some of {', '.join(CLASSES)}")
    return chosen


def damaged(reply: ModelReply, names: Iterable[str], rng: Random, *, native: bool) -> tuple[str, ModelReply] | None:
    """The reply damaged by one of the classes that apply to it, all as likely, and that one's name; ``None``: none."""
    meant = said(reply, native=native)
    if meant is None:
        return None
    order = list(names)
    rng.shuffle(order)
    for name in order:
        if (after := CLASSES[name](meant, rng)) is not None:
            return name, after
    return None
