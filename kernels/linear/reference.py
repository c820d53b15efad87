"""A linear layer in the released arithmetic: Q8 on the input where the weight is FP8 or FP4, f32 sums."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"


def run(out: Tensor, x: Tensor, matrix: Matrix) -> None:
    """Rows times a weight, rounded to the output's dtype.

    x       [R, K] bf16 or f32
    matrix  wt [K, N] f32
    out     [R, N] bf16 or f32

    f32 sums over K by 32-blocks: halves inside, blocks ascending; depends on K alone.
    Reads 4KN bytes of weight here (KN as FP8, KN/2 as FP4 on a GPU).
    Source: written here.
    """
    out.copy_(order.dot(matrix.input(x), matrix.wt))
