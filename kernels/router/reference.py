"""Router: square root of softplus scores, biased selection, unbiased weights."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels import elementary, order

CLAIM = "bits"


class Gate(NamedTuple):
    """Weights and constants of a router: wt [D, E] f32, bias [E] f32."""

    wt: Tensor
    bias: Tensor
    top_k: int
    scale: float


def run(ids: Tensor, weights: Tensor, x: Tensor, gate: Gate) -> None:
    """The `top_k` experts with the largest biased scores, ascending, and their normalised unbiased scores.

    x        [R, D] bf16 or f32
    ids      [R, top_k] int64, ascending
    weights  [R, top_k] f32, in the order of ids

    f32 sums over D by 32-blocks: halves inside, blocks ascending; the weights' sum runs over ascending ids.
    Ties: higher score, then lower id. Reads 2DE bytes as bf16.
    Source: written here.
    """
    scores = torch.sqrt(elementary.softplus(order.dot(x.float(), gate.wt)))
    chosen = order.top_k(scores + gate.bias, gate.top_k).sort(dim=1).values
    own = scores.gather(1, chosen)
    total = own[:, 0]
    for column in own.unbind(1)[1:]:
        total = total + column
    ids.copy_(chosen)
    weights.copy_(own / (total[:, None] + 1e-20) * gate.scale)
