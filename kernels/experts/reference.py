"""Routed experts: gate and up apart, the routing weight before the second quantisation, ascending sum."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels import elementary, order
from kernels.matrix import Matrix

CLAIM = "bits"


class Experts(NamedTuple):
    """Weights of all experts of a layer: w1, w3 wt [E, D, I], w2 wt [E, I, D] f32; SwiGLU clamps at `limit`."""

    w1: Matrix
    w3: Matrix
    w2: Matrix
    limit: float


def run(out: Tensor, x: Tensor, ids: Tensor, weights: Tensor, experts: Experts) -> None:
    """Sum over a row's experts of w2 (weight * silu(min(w1 x, limit)) * clamp(w3 x, +-limit)).

    x        [R, D] bf16 or f32
    ids      [R, k] int64, ascending
    weights  [R, k] f32
    out      [R, D] f32; each linear's result is rounded to x's dtype on the way

    f32 sums over D and I by 32-blocks: halves inside, blocks ascending; experts ascending by id. Depends on the
    sizes and the row's own ids alone. Reads the used experts once a row: 18.8 MB each at real widths.
    Source: written here.
    """
    pairs = experts.w1.input(x)[:, None, None, :].expand(-1, ids.shape[1], 1, -1)  # [R, k, 1, D]
    gate = order.dot(pairs, chosen(experts.w1, ids))
    up = order.dot(pairs, chosen(experts.w3, ids))
    finish(out, gate, up, x.dtype, ids, weights, experts.w2, experts.limit)


def chosen(matrix: Matrix, ids: Tensor) -> Tensor:
    """The weights of the experts `ids` [R, k]: [R, k, K, N] f32."""
    return matrix.wt.index_select(0, ids.flatten()).unflatten(0, ids.shape)


def finish(
    out: Tensor,
    gate: Tensor,
    up: Tensor,
    dtype: torch.dtype,
    ids: Tensor,
    weights: Tensor,
    w2: Matrix,
    limit: float,
) -> None:
    """From gate and up [R, k, 1, I] f32 to the sum: what kernels that differ in the first products share."""
    gate = gate.to(dtype).float().clamp(max=limit)
    up = up.to(dtype).float().clamp(-limit, limit)
    t = (weights[..., None, None] * elementary.silu(gate) * up).to(dtype)
    each = order.dot(w2.input(t), chosen(w2, ids)).to(dtype).float()  # [R, k, 1, D]
    acc = each[:, 0, 0]
    for place in range(1, each.shape[1]):
        acc = acc + each[:, place, 0]
    out.copy_(acc)
