"""Hyper-connection coefficients with the sum of squares folded into the mixes' split-K reduction."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import elementary, order
from kernels.hyper_mix.sinkhorn import Mix, coefficients

CLAIM = "bits"


def run(pre: Tensor, post: Tensor, comb: Tensor, h: Tensor, mix: Mix) -> None:
    """As `hyper_mix/reference`, with x^2 as a 25th column of the products: one tree, one ascending reduce.

    h [R, 4, D] bf16 or f32; pre, post [R, 4] f32; comb [R, 4, 4] f32

    Each column is summed as the reference sums it: halves inside 32-blocks, blocks ascending; depends on D alone.
    Reads 384D + 8RD bytes.
    Source: written here.
    """
    x = h.float().flatten(1)
    products = x[..., None] * mix.fn  # [R, 4D, 24]
    products = torch.cat([products, (x * x)[..., None]], -1)
    sums = order.total(products.mT)  # [R, 25]
    mixes = sums[:, :24] * elementary.rsqrt(sums[:, 24:] * (1.0 / x.shape[1]) + mix.norm_eps)
    coefficients(pre, post, comb, mixes, mix)
