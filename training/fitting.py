# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The training itself: batches of sheets, AdamW, a learning rate that rises and falls."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from micro_agent.models.tiny.network import Shape
from training.network import Batch, Weights, initial, loss
from training.pool import Sheet

HEADS = ((176, 4, 2), (656, 8, 1))
"""Sizes of a batch: the longest head, slots a row, rows."""
SLOT = 288
"""Tokens of a slot. What is longer is left out."""
BESIDE = 0.1
"""What it counts to foretell a token that the model does not have to write."""
FARTHEST = 3000
"""Branches begin up to so many positions behind their head, as they do when much was said before."""
PEAK, LAST, WARM = 3e-3, 0.03, 100
"""The highest learning rate, what is left of it at the end, and the steps that it takes to get there."""
DECAY, BETAS, CLIP = 0.05, (0.9, 0.98), 1.0


def batches(sheets: Sequence[Sheet], random: np.random.Generator) -> Iterator[Batch]:
    """All sheets once, in any order."""
    waiting: dict[tuple[int, int, int], list[Any]] = {size: [] for size in HEADS}
    for number in random.permutation(len(sheets)):
        sheet = sheets[number]
        size = next(size for size in HEADS if len(sheet.head) <= size[0])
        waiting[size].append(_row(sheet, size, random))
        if len(waiting[size]) == size[2]:
            yield Batch(*map(np.stack, zip(*waiting[size], strict=True)))
            waiting[size] = []


def _row(sheet: Sheet, size: tuple[int, int, int], random: np.random.Generator) -> tuple[Any, ...]:
    past, slots, _ = size
    head = np.zeros(past, np.int32)
    head[: len(sheet.head)] = sheet.head
    ids, positions, branch = (np.zeros((slots, SLOT), np.int32) for _ in range(3))
    weight, used, number = np.zeros((slots, SLOT), np.float32), [0] * slots, [0] * slots
    for tokens, right in sorted(sheet.branches, key=lambda one: -len(one[0])):
        length = len(tokens)
        slot = next((slot for slot in range(slots) if used[slot] + length <= SLOT), None)
        if slot is None or length > SLOT:
            continue
        at = slice(used[slot], used[slot] + length)
        gap = random.integers(FARTHEST) if random.random() < 0.3 else 0
        used[slot], number[slot] = used[slot] + length, number[slot] + 1
        ids[slot, at], branch[slot, at] = tokens, number[slot]
        positions[slot, at] = len(sheet.head) + gap + np.arange(length)
        weight[slot, at] = np.where(right, 1.0, BESIDE)
    return head, np.int32(len(sheet.head)), ids, positions, branch, weight


@partial(jax.jit, static_argnames="shape", donate_argnames=("weights", "moments"))  # pyright: ignore[reportUntypedFunctionDecorator]
def step(weights: Weights, moments: Any, number: Any, rate: Any, batch: Batch, *, shape: Shape) -> tuple[Any, Any, Any]:
    """One step of AdamW (Loshchilov and Hutter, 2019). Returns weights, moments and the loss before it."""
    value, slope = jax.value_and_grad(loss)(weights, shape, batch)
    norm = jnp.sqrt(sum(jnp.sum(one * one) for one in slope.values()))
    slope = {name: one * jnp.minimum(1.0, CLIP / norm) for name, one in slope.items()}
    first = {name: BETAS[0] * old + (1 - BETAS[0]) * slope[name] for name, old in moments[0].items()}
    second = {name: BETAS[1] * old + (1 - BETAS[1]) * slope[name] ** 2 for name, old in moments[1].items()}
    fixed = [1 - beta**number for beta in BETAS]
    new = {
        name: old - rate * (
            first[name] / fixed[0] / (jnp.sqrt(second[name] / fixed[1]) + 1e-8) + DECAY * (old.ndim > 1) * old
        )
        for name, old in weights.items()
    }  # fmt: skip
    return new, (first, second), value


def fitted(sheets: Sequence[Sheet], shape: Shape, *, seed: int) -> dict[str, np.ndarray]:
    """Weights that were trained on all sheets once; progress goes to stderr."""
    weights: Any = {name: jnp.asarray(value) for name, value in initial(shape, seed).items()}
    moments: Any = tuple({name: jnp.zeros_like(value) for name, value in weights.items()} for _ in range(2))
    todo = sum(1 for _ in batches(sheets, np.random.default_rng(seed)))
    begun, losses = monotonic(), list[float]()
    for number, batch in enumerate(batches(sheets, np.random.default_rng(seed)), 1):
        fall = LAST + (1 - LAST) * (1 + np.cos(np.pi * number / todo)) / 2
        rate = PEAK * min(1.0, number / WARM) * fall
        weights, moments, value = step(weights, moments, float(number), rate, batch, shape=shape)
        losses.append(float(value))
        if number % 50 == 0:
            line = f"step {number} of {todo}: loss {np.mean(losses[-50:]):.4f}, {monotonic() - begun:.0f} s\n"
            sys.stderr.write(line)
            sys.stderr.flush()
    return {name: np.asarray(value) for name, value in weights.items()}
