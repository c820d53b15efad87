"""Output head: the bf16 weight widened in registers."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels.linear.tile import Packed, launch, pack
from kernels.matrix import Matrix

CLAIM = "bits"


def prepare(weights: Sequence[Matrix]) -> tuple[Packed, ...]:
    """The stored bf16 weight; an f32 copy is never made."""
    return tuple(pack(matrix) for matrix in weights)


def run(logits: Tensor, x: Tensor, weight: Packed) -> None:
    """As `head/reference`, the same products from half the bytes.

    x       [R, D] bf16 or f32, R up to 8
    weight  [V, D] bf16
    logits  [R, V] f32

    f32 sums over D by 32-blocks: halves inside, blocks ascending; depends on D alone. One tile of eight rows,
    masked, whatever R. Reads 2DV bytes.
    Source: written here.
    """
    launch(logits, x, weight)
