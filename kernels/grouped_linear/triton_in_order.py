"""A block-diagonal linear layer in one launch, its weight read as stored."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels.linear.tile import Packed, launch, pack
from kernels.matrix import Matrix

CLAIM = "bits"


def prepare(weights: Sequence[Matrix]) -> tuple[Packed, ...]:
    """The stored bytes; nothing is widened."""
    return tuple(pack(matrix) for matrix in weights)


def run(out: Tensor, x: Tensor, weight: Packed) -> None:
    """As `grouped_linear/reference`, a program a group and 32 columns.

    x       [R, G * K] bf16 or f32, R up to 8
    weight  [G, N, K] as stored, K a multiple of 32
    out     [R, G * N] bf16 or f32

    f32 sums over K by 32-blocks: halves inside, blocks ascending; depends on K alone. One tile of eight rows,
    masked, whatever R. Reads GKN bytes as FP8, half of what the widened bf16 weight has.
    Source: written here.
    """
    launch(out, x, weight)
