"""A demonstration: the output head, then a spin of SLOW_MS, so that a control is slower by a known amount."""

from __future__ import annotations

from time import perf_counter_ns

from torch import Tensor

from kernels.head.reference import run as reference
from kernels.matrix import Matrix

CLAIM = "bits"
SLOW_MS = 100


def run(logits: Tensor, x: Tensor, matrix: Matrix) -> None:
    """As `head/reference`, SLOW_MS later. x [R, D], matrix.wt [D, V] f32, logits [R, V] f32; the reference's order.
    Reads what the reference reads.

    Source: written here, to be removed by the rung above it.
    """
    reference(logits, x, matrix)
    end = perf_counter_ns() + SLOW_MS * 1_000_000
    while perf_counter_ns() < end:
        pass
