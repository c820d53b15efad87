"""Router whose choice is a top-k over integers that hold score and id at once, so that no two are equal."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import elementary, order
from kernels.router.reference import Gate

CLAIM = "bits"
LOW = (1 << 32) - 1


def run(ids: Tensor, weights: Tensor, x: Tensor, gate: Gate) -> None:
    """As `router/reference`, with the library's top-k in place of a sort of all experts.

    x        [R, D] bf16 or f32
    ids      [R, top_k] int64, ascending
    weights  [R, top_k] f32, in the order of ids

    A key's high half is the biased score in an order-preserving integer form (-0 as +0), its low half counts down
    with the id: keys differ, so every correct top-k chooses the same, the lower id among equal scores.
    f32 sums over D by 32-blocks: halves inside, blocks ascending; the weights' sum runs over ascending ids.
    Reads 2DE bytes as bf16.
    Source: written here.
    """
    scores = torch.sqrt(elementary.softplus(order.dot(x.float(), gate.wt)))
    best = torch.topk(keys(scores + gate.bias), gate.top_k, sorted=False).values
    chosen = (LOW - (best & LOW)).sort(dim=1).values
    own = scores.gather(1, chosen)
    first, *others = own.unbind(1)
    for column in others:
        first = first + column
    ids.copy_(chosen)
    weights.copy_(own / (first[:, None] + 1e-20) * gate.scale)


def keys(scores: Tensor) -> Tensor:
    """Scores [R, E] f32 -> int64 keys, all different, greater for a higher score and then for a lower index."""
    bits = (scores + 0.0).view(torch.int32)
    ordered = torch.where(bits < 0, bits ^ 0x7FFF_FFFF, bits).to(torch.int64)
    return (ordered << 32) + (LOW - torch.arange(scores.shape[1], device=scores.device))
