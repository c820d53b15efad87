"""A block-diagonal linear layer one group after another, each written where it belongs."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"


def run(out: Tensor, x: Tensor, matrix: Matrix) -> None:
    """As `grouped_linear/reference`, without the transposed copy of the whole.

    x [R, G * K] bf16 or f32, matrix.wt [G, K, N] f32, out [R, G * N] bf16 or f32

    f32 sums over K by 32-blocks: halves inside, blocks ascending; depends on K alone.
    Reads 4GKN bytes of weight, as the reference does, a group at a time.
    Source: written here.
    """
    _, k, n = matrix.wt.shape
    wide = matrix.input(x).split(k, -1)
    for group, part in enumerate(out.split(n, -1)):
        part.copy_(order.dot(wide[group], matrix.wt[group]))
