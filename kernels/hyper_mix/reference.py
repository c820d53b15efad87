"""Hyper-connection coefficients: the mixes' product and the sum of squares in one reduction each, block after block."""

from __future__ import annotations

from torch import Tensor

from kernels import elementary, order
from kernels.hyper_mix.sinkhorn import Mix, coefficients

CLAIM = "bits"


def run(pre: Tensor, post: Tensor, comb: Tensor, h: Tensor, mix: Mix) -> None:
    """Coefficients of a sublayer from the residual copies.

    h     [R, 4, D] bf16 or f32
    pre   [R, 4] f32, post [R, 4] f32, comb [R, 4, 4] f32 with the source copy first

    f32 sums over 4D by 32-blocks: halves inside, blocks ascending; depends on D alone. `mix.passes` Sinkhorn
    passes, which do not converge: the count matters. Reads 384D + 8RD bytes.
    Source: written here.
    """
    x = h.float().flatten(1)
    mean = order.total_by_block(x * x)[:, None] * (1.0 / x.shape[1])
    mixes = order.dot_by_block(x, mix.fn) * elementary.rsqrt(mean + mix.norm_eps)
    coefficients(pre, post, comb, mixes, mix)
