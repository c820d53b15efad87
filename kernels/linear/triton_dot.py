"""A linear layer on tensor cores, its weight read as stored."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels.linear.dot import launch
from kernels.linear.tile import Packed, pack
from kernels.matrix import Matrix

CLAIM = "ulp:bf16=1,f32=16"


def prepare(weights: Sequence[Matrix]) -> tuple[Packed, ...]:
    """The stored bytes; nothing is widened."""
    return tuple(pack(matrix) for matrix in weights)


def run(out: Tensor, x: Tensor, weight: Packed) -> None:
    """As `linear/reference`, but for the order of its sums.

    x       [R, K] bf16 or f32, R up to 8
    weight  [N, K] as stored, K a multiple of 32
    out     [R, N] bf16 or f32

    Exact products; f32 sums inside 128 (or 64, or 32) of K in the tensor core's own order, then those ascending,
    one add each: it depends on K alone, since eight rows run whatever R. The claim bounds the distance from the exact
    sum, in ulp at the larger of its value and the root of its terms' sum of squares.
    Reads KN bytes as FP8, KN/2 as FP4, and their scales; 2KN as bf16.
    Source: written here.
    """
    launch(out, x, weight)
