"""The output head over the vocabulary in pieces, each written straight to its logits."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"
PIECE = 128


def run(logits: Tensor, x: Tensor, matrix: Matrix) -> None:
    """As `head/reference`, 128 tokens at a time, so that their products stay in cache.

    x [R, D] bf16 or f32, matrix.wt [D, V] f32, logits [R, V] f32

    A column's sum does not know its neighbours: f32 over D by 32-blocks, halves inside, blocks ascending.
    Reads 4DV bytes of weight, as the reference does; the scratch of products is 128RD floats.
    Source: written here.
    """
    wide = matrix.input(x)
    for part, wt in zip(logits.split(PIECE, -1), matrix.wt.split(PIECE, -1), strict=True):
        part.copy_(order.dot(wide, wt))
