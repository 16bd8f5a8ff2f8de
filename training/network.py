# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
"""The llama architecture in JAX, for training: RMSNorm, rotary positions over neighbouring pairs, SwiGLU.

The output shares the embedding's weights. The inference that ships is in NumPy: `micro_agent.models.tiny.network`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from micro_agent.models.tiny.network import EPSILON, ROPE_BASE, Shape

Weights = dict[str, Any]
"""Arrays by their names, as they are shipped: matrices are (outputs, inputs)."""


class Batch(NamedTuple):
    """Rows of one head and K slots each; a slot of S tokens holds one branch or several.

    head: (B, P); length: (B,), of the head; ids, positions, branch, weight: (B, K, S). ``branch`` numbers the branches
    of a slot from 1, and padding is 0. ``weight`` says how much it counts that a token is foretold.
    """

    head: Any
    length: Any
    ids: Any
    positions: Any
    branch: Any
    weight: Any


def initial(shape: Shape, seed: int) -> Weights:
    """Random weights."""
    random = np.random.default_rng(seed)

    def noise(outputs: int, inputs: int, scale: float = 1.0) -> np.ndarray:
        return (random.standard_normal((outputs, inputs)) * scale / np.sqrt(inputs)).astype(np.float32)

    wide, inner, ones = shape.width, shape.inner, np.ones(shape.width, np.float32)
    deep = (2 * shape.layers) ** -0.5
    found: Weights = {"token_embd": noise(shape.vocabulary, wide, 0.8), "output_norm": ones}
    for layer in range(shape.layers):
        found |= {f"blk.{layer}.{name}": value for name, value in {
            "attn_norm": ones, "attn_q": noise(wide, wide), "attn_k": noise(wide, wide), "attn_v": noise(wide, wide),
            "attn_output": noise(wide, wide, deep), "ffn_norm": ones, "ffn_gate": noise(inner, wide),
            "ffn_up": noise(inner, wide), "ffn_down": noise(wide, inner, deep),
        }.items()}  # fmt: skip
    return found


def _normed(x: Any, weight: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPSILON) * weight


def _rotated(x: Any, positions: Any) -> Any:
    """x: (B, H, N, D), positions: (B, N)."""
    size = x.shape[-1]
    angles = positions[:, None, :, None] * ROPE_BASE ** (-jnp.arange(0, size, 2) / size)
    cosine, sine, even, odd = jnp.cos(angles), jnp.sin(angles), x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).reshape(x.shape)


def logits(weights: Weights, shape: Shape, batch: Batch) -> Any:
    """What follows each token of the slots: (B, K, S, V)."""
    rows, past = batch.head.shape
    _, slots, size = batch.ids.shape
    heads, each = shape.heads, shape.width // shape.heads
    flat = slots * size
    known = jnp.arange(past) < batch.length[:, None]
    positions = jnp.concatenate([jnp.tile(jnp.arange(past), (rows, 1)), batch.positions.reshape(rows, flat)], 1)
    x = weights["token_embd"][jnp.concatenate([batch.head, batch.ids.reshape(rows, flat)], 1)]
    to_head = jnp.where(known, 0.0, -1e9)[:, None, None, :]
    in_head = jnp.where(jnp.tril(jnp.ones((past, past), bool)), 0.0, -1e9) + to_head
    same = (batch.branch[..., :, None] == batch.branch[..., None, :]) & jnp.tril(jnp.ones((size, size), bool))
    in_slot = jnp.where(same, 0.0, -1e9)[:, None]  # (B, 1, K, S, S)

    for layer in range(shape.layers):
        own = {name: weights[f"blk.{layer}.{name}"] for name in _NAMES}
        normed = _normed(x, own["attn_norm"])
        joined = jnp.concatenate([own["attn_q"], own["attn_k"], own["attn_v"]])
        q, k, v = (
            part.reshape(rows, past + flat, heads, each).transpose(0, 2, 1, 3)
            for part in jnp.split(normed @ joined.T, 3, -1)
        )
        q, k = _rotated(q, positions) * each**-0.5, _rotated(k, positions)
        seen = _softmax([(q[:, :, :past] @ k[:, :, :past].swapaxes(2, 3)) + in_head])[0] @ v[:, :, :past]
        per_slot = (rows, heads, slots, size)
        slot_q, slot_k, slot_v = (part[:, :, past:].reshape(*per_slot, each) for part in (q, k, v))
        before = (q[:, :, past:] @ k[:, :, :past].swapaxes(2, 3) + to_head).reshape(*per_slot, past)
        to_past, to_slot = _softmax([before, slot_q @ slot_k.swapaxes(3, 4) + in_slot])
        mixed = (to_past.reshape(rows, heads, flat, past) @ v[:, :, :past]).reshape(*per_slot, each) + to_slot @ slot_v
        attended = jnp.concatenate([seen, mixed.reshape(rows, heads, flat, each)], 2)
        x = x + attended.transpose(0, 2, 1, 3).reshape(rows, past + flat, shape.width) @ own["attn_output"].T
        normed = _normed(x, own["ffn_norm"])
        x = x + (jax.nn.silu(normed @ own["ffn_gate"].T) * (normed @ own["ffn_up"].T)) @ own["ffn_down"].T
    said = _normed(x[:, past:], weights["output_norm"]) @ weights["token_embd"].T
    return said.reshape(rows, slots, size, -1)


_NAMES = (
    "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down",
)  # fmt: skip


def _softmax(scores: list[Any]) -> list[Any]:
    """Softmax over the last axes of several arrays together."""
    most = jnp.stack([one.max(-1) for one in scores]).max(0)[..., None]
    powers = [jnp.exp(one - jax.lax.stop_gradient(most)) for one in scores]
    whole = sum(one.sum(-1, keepdims=True) for one in powers)
    return [one / whole for one in powers]


def loss(weights: Weights, shape: Shape, batch: Batch) -> Any:
    """Mean cross entropy of the next token, in nats, by weight."""
    said, wanted = logits(weights, shape, batch)[:, :, :-1], batch.ids[:, :, 1:]
    chosen = jnp.take_along_axis(said, wanted[..., None], -1)[..., 0]
    counts = batch.weight[:, :, 1:] * (batch.branch[:, :, 1:] == batch.branch[:, :, :-1])
    return ((jax.nn.logsumexp(said, -1) - chosen) * counts).sum() / counts.sum()
