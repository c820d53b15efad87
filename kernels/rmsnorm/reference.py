"""Root-mean-square norm, one 32-block after another."""

from __future__ import annotations

from torch import Tensor

from kernels import elementary, order

CLAIM = "bits"


def run(out: Tensor, x: Tensor, weight: Tensor, eps: float) -> None:
    """Root-mean-square norm of each row: weight * (x * rsqrt(mean(x^2) + eps)).

    x       [R, ..., D] bf16 or f32
    weight  [D] f32
    out     [R, ..., D] bf16 or f32

    Sums squares in f32 by 32-blocks in ascending order, halves inside a block; depends on D alone.
    Reads and writes 4RD + 4D bytes in bf16.
    Source: written here.
    """
    wide = x.float()
    mean = order.total_by_block(wide * wide) * (1.0 / x.shape[-1])
    out.copy_(weight * (wide * elementary.rsqrt(mean + eps)[..., None]))
