"""What a kernel's test case holds, and how to draw its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


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
