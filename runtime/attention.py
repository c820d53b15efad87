"""Attention of one layer, by mode: window alone, with an own compressed store, or with one that it shares.

A step's rows write first and read then, so that each sees itself and the rows before it in the same step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from runtime import rope
from runtime.cache import Cache
from runtime.config import Mode
from runtime.rope import Turn
from runtime.sites import At
from runtime.weights import Weights


@dataclass
class Step:
    """What the layers of one step share.

    positions   [R] int64
    window      rotation of window layers' rows, and `compressed` that of the others'
    latents     [R, topk, K] f32, what the last index source selected, and `seen` [R, topk] bool which of it counts
    candidates  [R, T] bool, slots inside the candidate source's best blocks
    """

    weights: Weights
    cache: Cache
    positions: Tensor
    window: Turn
    compressed: Turn
    latents: Tensor = field(init=False)
    seen: Tensor = field(init=False)
    candidates: Tensor = field(init=False)

    @classmethod
    def begin(cls, weights: Weights, cache: Cache, positions: Tensor) -> Step:
        """The step of rows at `positions`, as `cache.begin` gave them."""
        window = rope.turn(weights.window_frequencies, positions)
        return cls(weights, cache, positions, window, rope.turn(weights.compressed_frequencies, positions))

    def visible_slots(self, ratio: int) -> Tensor:
        """How many leading slots each row may see [R] int64, its own included."""
        return (self.positions + 1).div(ratio, rounding_mode="floor")


@dataclass(frozen=True)
class Projected:
    """An attention input's projections.

    q   [R, H, K] turned, kv [R, K] turned and as stored in the window
    qr  [R, q_lora] the normed query latent
    of  every projection of the input by its site's name
    """

    q: Tensor
    kv: Tensor
    qr: Tensor
    of: Mapping[str, Tensor]


def project(at: At, x: Tensor, turn: Turn) -> Projected:
    """Queries and window KV of x [R, D]; every mode and the draft stages begin with it."""
    of = at.attn_in(x)
    qr = at.q_norm(of["q_a"])
    q = at.q_rope(at.q_b(qr).view(len(x), at.heads, -1), *turn)
    return Projected(q, window_kv(at, of["kv"], turn), qr, of)


def window_kv(at: At, kv: Tensor, turn: Turn) -> Tensor:
    """From the projection kv [R, K] to what the window stores [R, K]."""
    stored: Tensor = at.kv_rope(at.kv_norm(kv), *turn)
    return stored


def output(at: At, q: Tensor, rows: Tensor, visible: Tensor, turn: Turn) -> Tensor:
    """Attend with q [R, H, K] to rows [R, S, K] f32 where visible [R, S] bool, and project: y [R, D]."""
    o = at.o_rope(at.attend(q, rows, visible), *turn.back)
    y: Tensor = at.o_b(at.o_a(o.flatten(1)))
    return y


def window(at: At, step: Step, x: Tensor) -> Tensor:
    """Window attention only, turned by the plain frequencies."""
    into = project(at, x, step.window)
    rows, visible = _window_rows(at, step, into)
    return output(at, into.q, rows, visible, step.window)


def full(at: At, step: Step, x: Tensor) -> Tensor:
    """Window and compressed attention; fills its own compressed store and selects from it."""
    into = project(at, x, step.compressed)
    _compress(at, step, into)
    _select(at, step, into)
    return _sparse(at, step, into)


def reindex(at: At, step: Step, x: Tensor) -> Tensor:
    """Window and compressed attention; selects anew from a store that an earlier layer fills."""
    into = project(at, x, step.compressed)
    _select(at, step, into)
    return _sparse(at, step, into)


def reuse(at: At, step: Step, x: Tensor) -> Tensor:
    """Window and compressed attention over what an earlier layer selected."""
    return _sparse(at, step, project(at, x, step.compressed))


MODES: Mapping[Mode, Callable[[At, Step, Tensor], Tensor]] = {
    "swa": window,
    "full": full,
    "reindex": reindex,
    "reuse": reuse,
}


def _window_rows(at: At, step: Step, into: Projected) -> tuple[Tensor, Tensor]:
    """Store the rows' window KV, then what each row sees: [R, W, K] f32 and [R, W] bool."""
    step.cache.write_window(at.layer, step.positions, into.kv)
    return step.cache.read_window(at.layer, step.positions)


def _sparse(at: At, step: Step, into: Projected) -> Tensor:
    rows, visible = _window_rows(at, step, into)
    rows = torch.cat((rows, step.latents), 1)
    return output(at, into.q, rows, torch.cat((visible, step.seen), 1), step.compressed)


def _compress(at: At, step: Step, into: Projected) -> None:
    """Close this step's slots of the layer's own store."""
    cache = step.cache
    if at.ratio == 2:
        pairs = cache.pairs(at.layer, into.of["compress_k"], into.of["compress_gate"])
        if not len(pairs.slots):
            return
        pooled = at.compress_pool(pairs.k, pairs.s)
        turn = rope.turn(step.weights.compressed_frequencies, 2 * pairs.slots)
    else:
        pooled, turn = into.of["compress_k"], step.compressed
    latent = at.compress_norm(pooled)
    key = at.index_k_rope(at.index_k_norm(at.index_k(latent)), *turn)
    cache.write_compressed(at.layer, at.latent_rope(latent, *turn), key)


def _select(at: At, step: Step, into: Projected) -> None:
    """Choose the slots that this layer and the reusing layers behind it attend to."""
    cache = step.cache
    latents, keys = cache.compressed(at.kv_owner)
    visible = step.visible_slots(at.ratio)
    slots = max(1, cache.visible_slots(at.kv_owner, cache.next_position + len(visible) - 1))
    query = at.index_q_rope(at.index_q_b(into.qr).view(len(visible), at.index_heads, -1), *step.compressed)
    scores = at.index_scores(query, into.of["index_weights"], visible, keys[:slots], slots=slots)
    allowed = step.candidates if at.within_candidates else torch.ones_like(scores, dtype=torch.bool)
    selected, step.candidates = at.index_select(scores, visible, allowed, slots=slots)
    step.seen = selected >= 0
    step.latents = latents[selected.clamp(min=0)]
