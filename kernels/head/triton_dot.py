"""The output head on tensor cores, its bf16 weight widened in registers."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels.linear.dot import launch
from kernels.linear.tile import Packed, pack
from kernels.matrix import Matrix

CLAIM = "ulp:f32=16"


def prepare(weights: Sequence[Matrix]) -> tuple[Packed, ...]:
    """The stored bytes; nothing is widened."""
    return tuple(pack(matrix) for matrix in weights)


def run(logits: Tensor, x: Tensor, weight: Packed) -> None:
    """As `head/reference`, but for the order of its sums.

    x       [R, D] bf16 or f32, R up to 8
    weight  [V, D] bf16
    logits  [R, V] f32

    Exact products; f32 sums inside 128 (or 64, or 32) of D in the tensor core's own order, then those ascending,
    one add each: it depends on D alone, since eight rows run whatever R. The claim bounds the distance from the exact
    sum, in ulp at the larger of its value and the root of its terms' sum of squares.
    Reads 2DV bytes.
    Source: written here.
    """
    launch(logits, x, weight)
