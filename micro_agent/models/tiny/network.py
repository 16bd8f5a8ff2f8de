"""The llama architecture in NumPy: RMSNorm, rotary positions over neighbouring pairs, SwiGLU, a cache of what was seen.

The same numbers as llama.cpp computes from the exported model, up to rounding. The output shares the embedding's
weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

EPSILON = 1e-5
ROPE_BASE = 10000.0
CHUNK = 256
"""Tokens of a prompt that are computed at once: scores take memory by its square."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model. ``context``: tokens of prompt and reply together."""

    vocabulary: int
    width: int
    inner: int
    heads: int
    layers: int
    context: int


class Seen:
    """Keys and values of a sequence of tokens: (layers, 2, heads, context, size of a head)."""

    def __init__(self, shape: Shape) -> None:
        self.tokens: list[int] = []
        each = shape.width // shape.heads
        self.values: Floats = np.empty((shape.layers, 2, shape.heads, shape.context, each), np.float32)


class Network:
    """The weights, and what they make of tokens. Safe to share between threads."""

    def __init__(self, shape: Shape, weights: Mapping[str, NDArray[Any]]) -> None:
        self.shape = shape
        known = {name: value.astype(np.float32) for name, value in weights.items()}
        self._embedding, self._last = known["token_embd"], known["output_norm"]
        self._out: Floats = np.ascontiguousarray(self._embedding.T)
        each = shape.width // shape.heads
        self._layers = [_Layer(known, f"blk.{layer}.", each) for layer in range(shape.layers)]
        angles = np.arange(shape.context)[:, None] * ROPE_BASE ** (-np.arange(0, each, 2) / each)
        self._turns: NDArray[np.complex64] = np.exp(1j * angles).astype(np.complex64)

    def next(self, seen: Seen, tokens: Sequence[int]) -> Floats:
        """Take tokens in behind those that were seen; the logits of what follows the last of them.

        They have to fit: there is room for ``shape.context`` tokens.
        """
        found: Floats | None = None
        for start in range(0, len(tokens), CHUNK):
            found = self._taken(seen, tokens[start : start + CHUNK])
        return _normed(cast(Floats, found), self._last) @ self._out

    def _taken(self, seen: Seen, tokens: Sequence[int]) -> Floats:
        """The last state of the last of the tokens."""
        past, count, heads = len(seen.tokens), len(tokens), self.shape.heads
        end = past + count
        turns = self._turns[past:end]
        x: NDArray[Any] = self._embedding[np.asarray(tokens)]
        later = np.triu(np.full((count, count), -np.inf, np.float32), 1) if count > 1 else None
        for layer, (keys, values) in zip(self._layers, seen.values, strict=True):
            parts = (_normed(x, layer.before) @ layer.joined).reshape(count, 3, heads, -1).transpose(1, 2, 0, 3)
            query, keys[:, past:end] = _turned(parts[0], turns), _turned(parts[1], turns)
            values[:, past:end] = parts[2]
            scores = query @ keys[:, :end].transpose(0, 2, 1)
            if later is not None:
                scores[:, :, past:] += later
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            mixed = scores @ values[:, :end] / scores.sum(-1, keepdims=True)
            x = x + mixed.transpose(1, 0, 2).reshape(count, -1) @ layer.output
            gate, up = np.split(_normed(x, layer.between) @ layer.gated, 2, -1)
            x = x + (gate / (1 + np.exp(-gate)) * up) @ layer.down
        seen.tokens.extend(tokens)
        return x[-1]


class _Layer:
    """The weights of one layer as (inputs, outputs), with those joined that are applied to the same."""

    def __init__(self, known: Mapping[str, Floats], name: str, each: int) -> None:
        query, keys, values = (known[f"{name}attn_{one}"] for one in "qkv")
        query = query * np.float32(each**-0.5)
        self.before, self.between = known[f"{name}attn_norm"], known[f"{name}ffn_norm"]
        self.joined: Floats = np.ascontiguousarray(np.concatenate([query, keys, values]).T)
        self.gated: Floats = np.ascontiguousarray(np.concatenate([known[f"{name}ffn_gate"], known[f"{name}ffn_up"]]).T)
        self.output: Floats = np.ascontiguousarray(known[f"{name}attn_output"].T)
        self.down: Floats = np.ascontiguousarray(known[f"{name}ffn_down"].T)


def _normed(x: Floats, weight: Floats) -> Floats:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(EPSILON)) * weight


def _turned(x: Floats, turns: NDArray[np.complex64]) -> Floats:
    """Rotary positions: each pair of neighbours is a complex number that is turned."""
    return (np.ascontiguousarray(x).view(np.complex64) * turns).view(np.float32)
