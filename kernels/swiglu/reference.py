"""The shared expert: every row, no routing weight."""

from __future__ import annotations

from torch import Tensor

from kernels import elementary, order
from kernels.experts.reference import Experts

CLAIM = "bits"


def run(out: Tensor, x: Tensor, expert: Experts) -> None:
    """w2 (silu(min(w1 x, limit)) * clamp(w3 x, +-limit)).

    x       [R, D] bf16 or f32
    expert  w1, w3 wt [D, I], w2 wt [I, D] f32
    out     [R, D] f32, holding values rounded to x's dtype

    f32 sums over D and I by 32-blocks: halves inside, blocks ascending; depends on the sizes alone.
    Reads 12DI bytes of weights here, 3DI as FP8.
    Source: written here.
    """
    dtype, limit = x.dtype, expert.limit
    wide = expert.w1.input(x)
    gate = order.dot(wide, expert.w1.wt).to(dtype).float().clamp(max=limit)
    up = order.dot(wide, expert.w3.wt).to(dtype).float().clamp(-limit, limit)
    t = (elementary.silu(gate) * up).to(dtype)
    out.copy_(order.dot(expert.w2.input(t), expert.w2.wt).to(dtype))
