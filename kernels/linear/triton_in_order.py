"""A linear layer that reads the weight as stored and keeps the reference's order of sums."""

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
    """As `linear/reference`: Q8, decoding, products and sums in one launch, on the ordinary arithmetic units.

    x       [R, K] bf16 or f32, R up to 8
    weight  [N, K] as stored, K a multiple of 32
    out     [R, N] bf16 or f32

    f32 sums over K by 32-blocks: halves inside, blocks ascending; depends on K alone. One tile of eight rows,
    masked, whatever R. Reads the weight once: KN (1 + 1/1024) bytes as FP8, KN/2 (1 + 1/16) as FP4, 2KN as bf16.
    Source: written here.
    """
    launch(out, x, weight)
