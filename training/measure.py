"""How often the model that ships is right on tasks of held-out names and phrasings, greedy, by kind and mode.

Each reply is asked for behind what is right up to there, with all twelve tools offered, and is right if it is the
expected one to the letter.
"""

from collections.abc import Iterator
from random import Random

from micro_agent.models.tiny.generating import TinyModel
from micro_agent.models.tiny.sampling import Sampling
from micro_agent.models.tiny.template import head_of, turns_of
from micro_agent.models.tiny.tokenizer import BEGIN, Part
from micro_agent.run import Mode
from training.conversations import ALL, MODES, Classroom, pieces
from training.tasks import KINDS, task

Expected = tuple[list[Part], str, bool]
"""A prompt, the reply that is right, and whether that is a call."""
Figures = dict[str, dict[str, dict[str, float | None]]]


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


def measured(model: TinyModel, *, count: int = 20, seed: int = 1) -> Figures:
    """By mode and kind: the part of calls, of answers, and of whole tasks that is right."""
    return {mode: {kind: _kind(model, kind, mode, count, seed) for kind in KINDS} for mode in MODES}


def _kind(model: TinyModel, kind: str, mode: Mode, count: int, seed: int) -> dict[str, float | None]:
    calls, answers, whole = list[bool](), list[bool](), list[bool]()
    for turns in held_out(kind, mode, count, seed):
        right = [_reply(model, prompt) == text for prompt, text, _ in turns]
        for one, (_, _, is_call) in zip(right, turns, strict=True):
            (calls if is_call else answers).append(one)
        whole.append(all(right))
    return {name: _part(found) for name, found in (("calls", calls), ("answers", answers), ("whole", whole))}


def _reply(model: TinyModel, prompt: list[Part]) -> str:
    (text,) = model.complete(prompt, Sampling(max_tokens=100))
    return text.text.removeprefix("<tool_call>").removesuffix("</tool_call>")


def _part(found: list[bool]) -> float | None:
    return round(sum(found) / len(found), 3) if found else None
