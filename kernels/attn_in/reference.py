"""Same-input projections, one after another."""

from __future__ import annotations

from torch import Tensor

from kernels.linear import reference as linear
from kernels.matrix import Matrix

CLAIM = "bits"


def run(*arguments: Tensor | Matrix) -> None:
    """run(*outputs, x, *matrices): each output is `linear/reference` of x and its weight.

    x [R, D] bf16 or f32, outputs [R, N_i] bf16 or f32, one a weight; the reduction order is linear's.
    Reads what each linear reads, and x once for each of them.
    Source: written here.
    """
    matrices = [a for a in arguments if isinstance(a, Matrix)]
    *outputs, x = [a for a in arguments if isinstance(a, Tensor)]
    for output, matrix in zip(outputs, matrices, strict=True):
        linear.run(output, x, matrix)
