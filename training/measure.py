"""How often the model that ships is right on tasks of held-out names and phrasings, greedy, by kind and mode.

``python -m training.measure`` prints it, for 100 tasks of each kind and mode, in a quarter of an hour.

Each reply is asked for behind what is right up to there, with all twelve tools offered, and is right if it is the
expected one to the letter.
"""

import sys
from collections.abc import Iterator
from random import Random

from micro_agent.models.tiny.generating import TinyModel, shipped
from micro_agent.models.tiny.sampling import Sampling
from micro_agent.models.tiny.template import head_of, turns_of
from micro_agent.models.tiny.tokenizer import BEGIN, Part
from micro_agent.run import Mode
from training.conversations import ALL, MODES, Classroom, pieces
from training.tasks import KINDS, task

Expected = tuple[list[Part], str, bool]
"""A prompt, the reply that is right, and whether that is a call."""


def held_out(kind: str, mode: Mode, count: int, seed: int) -> Iterator[list[Expected]]:
    """Conversations about so many tasks of a kind, each as what is expected at every turn."""
    random = Random(f"{seed} {kind} {mode}")
    room = Classroom(ALL, mode, random, slips=0)
    for _ in range(count):
        if (found := room.conversation([task(random, held=True, kind=kind)])) is None:
            continue
        first, request, said = found
        prompt: list[Part] = [BEGIN, *head_of(request), *turns_of(request.messages[:first])]
        turns: list[Expected] = []
        for piece in pieces(request.messages[first:], said):
            if piece.right:
                text = "".join(part for part in piece.parts if isinstance(part, str))
                turns.append((list(prompt), text, '"arguments": ' in text or text.startswith('{"tool"')))
            prompt += piece.parts
        yield turns


def table(count: int, seed: int = 1) -> str:
    """A table in Markdown: by kind and mode, the part of calls, of answers, and of whole tasks that is right."""
    head = " | ".join(f"{mode}: {what}" for mode in ("native", "JSON") for what in ("calls", "answers", "whole"))
    lines = [f"| kind | {head} |", "|---" * (1 + 3 * len(MODES)) + "|"]
    sums: list[list[bool]] = [[] for _ in range(3 * len(MODES))]
    for kind in KINDS:
        found = [column for mode in MODES for column in _right(shipped(), kind, mode, count, seed)]
        lines.append(f"| {kind} | {_cells(found)} |")
        for sum_, column in zip(sums, found, strict=True):
            sum_ += column
    return "\n".join([*lines, f"| all | {_cells(sums)} |"]) + "\n"


def _cells(columns: list[list[bool]]) -> str:
    return " | ".join(f"{sum(column) / len(column):.0%}" if column else "" for column in columns)


def _right(model: TinyModel, kind: str, mode: Mode, count: int, seed: int) -> tuple[list[bool], list[bool], list[bool]]:
    """Of calls, of answers and of whole tasks, whether each is right."""
    calls, answers, whole = list[bool](), list[bool](), list[bool]()
    for turns in held_out(kind, mode, count, seed):
        right = [_reply(model, prompt) == text for prompt, text, _ in turns]
        for one, (_, _, is_call) in zip(right, turns, strict=True):
            (calls if is_call else answers).append(one)
        whole.append(all(right))
    return calls, answers, whole


def _reply(model: TinyModel, prompt: list[Part]) -> str:
    found = model.complete(prompt, Sampling(max_tokens=100))
    return found.text.removeprefix("<tool_call>").removesuffix("</tool_call>")


if __name__ == "__main__":
    sys.stdout.write(table(100))
