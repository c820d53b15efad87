"""What a kernel's test case holds, and how to draw its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernels import codecs
from kernels.matrix import TILE, Matrix, Stored


@dataclass(frozen=True)
class Case:
    """One set of arguments for every kernel of an operation.

    outputs  (trailing shape, dtype) of each output; rows are the leading dimension
    inputs   tensors [8, ...]: row r of each belongs to row r of the outputs
    fixed    weights and constants, the same for every row
    """

    name: str
    outputs: Sequence[tuple[tuple[int, ...], torch.dtype]]
    inputs: Sequence[Tensor]
    fixed: Sequence[Any]


Draw = Callable[..., Tensor]


def draw(seed: int) -> Draw:
    """A source of normal f32 tensors: `normal(*shape, scale=1.0)`."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        return torch.randn(shape, generator=generator) * scale

    return normal


def fp8_matrix(normal: Draw, *shape: int, gain: float = 1.0, quantise: bool = True) -> Matrix:
    """Of shape [..., K, N], stored as E4M3 with a scale a tile; outputs are of size `gain` for inputs of size 1."""
    *lead, k, n = shape
    codes = normal(*lead, n, k, scale=32.0).clamp(-codecs.E4M3_MAX, codecs.E4M3_MAX).to(torch.float8_e4m3fn)
    return Matrix(None, quantise, Stored(codes, _scales(normal(*lead, -(-n // TILE), k // TILE), gain / 32 / k**0.5)))


def fp4_matrix(normal: Draw, *shape: int, gain: float = 1.0, quantise: bool = True) -> Matrix:
    """Of shape [..., K, N], stored as E2M1 pairs with a scale for each 32 of a row."""
    *lead, k, n = shape
    codes = codecs.e2m1_pack(codecs.e2m1_codes(normal(*lead, n, k, scale=2.0)))
    return Matrix(None, quantise, Stored(codes, _scales(normal(*lead, n, k // TILE), gain / 2 / k**0.5)))


def bf16_matrix(normal: Draw, *shape: int, gain: float = 1.0, quantise: bool = False) -> Matrix:
    """Of shape [..., K, N], stored as bf16."""
    *lead, k, n = shape
    return Matrix(None, quantise, Stored(normal(*lead, n, k, scale=gain * k**-0.5).bfloat16()))


def _scales(spread: Tensor, size: float) -> Tensor:
    """UE8M0 bytes around a size, a power of two or two up and down."""
    middle = 127 + round(math.log2(size))
    return (middle + spread.round().clamp(-2, 2)).to(torch.uint8)
