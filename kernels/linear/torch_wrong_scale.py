"""A demonstration of a wrong kernel: the linear layer with the scale of its first 32x32 block doubled."""

from __future__ import annotations

from torch import Tensor

from kernels import order
from kernels.matrix import Matrix

CLAIM = "bits"  # It claims what it does not keep: a gate has to find out.


def run(out: Tensor, x: Tensor, matrix: Matrix) -> None:
    """As `linear/reference`, but wrong: block (0, 0) of the weight counts twice.

    x [R, K] bf16 or f32, matrix.wt [K, N] f32, out [R, N] bf16 or f32. Reduction order as the reference's.
    Reads what the reference reads, and copies the weight.
    Source: written here, to be caught.
    """
    wt = matrix.wt.clone()
    wt[:32, :32] *= 2
    out.copy_(order.dot(matrix.input(x), wt))
