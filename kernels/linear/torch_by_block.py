"""A linear layer one 32-block of K after another, so that few products are held at once."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"


def run(out: Tensor, x: Tensor, matrix: Matrix) -> None:
    """As `linear/reference`, with 32RN products in flight instead of RKN.

    x [R, K] bf16 or f32, matrix.wt [K, N] f32, out [R, N] bf16 or f32

    f32 sums over K by 32-blocks: halves inside, blocks ascending; depends on K alone.
    Reads 4KN bytes of weight, as the reference does; the scratch of products is 32RN floats.
    Source: written here.
    """
    out.copy_(order.dot_by_block(matrix.input(x), matrix.wt))
