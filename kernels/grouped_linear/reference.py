"""A block-diagonal linear layer: the first half of the attention output projection."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"


def run(out: Tensor, x: Tensor, matrix: Matrix) -> None:
    """Each group of channels times its own weight.

    x       [R, G * K] bf16 or f32
    matrix  wt [G, K, N] f32
    out     [R, G * N] bf16 or f32

    f32 sums over K by 32-blocks: halves inside, blocks ascending; depends on K alone. Reads 2GKN bytes as bf16.
    Source: written here.
    """
    groups, k, _ = matrix.wt.shape
    by_group = matrix.input(x).unflatten(-1, (groups, k)).transpose(0, 1)  # [G, R, K]
    out.copy_(order.dot(by_group, matrix.wt).transpose(0, 1).flatten(1))
