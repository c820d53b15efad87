"""Output head."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"


def run(logits: Tensor, x: Tensor, matrix: Matrix) -> None:
    """Logits of every row.

    x       [R, D] bf16 or f32
    matrix  wt [D, V] f32, bf16 values widened
    logits  [R, V] f32

    f32 sums over D by 32-blocks: halves inside, blocks ascending; depends on D alone. Reads 2DV bytes as bf16.
    Source: written here.
    """
    logits.copy_(order.dot(matrix.input(x), matrix.wt))
