"""Elementary functions whose result for a value depends neither on where it stands in a tensor nor on the machine.

Each is computed in double precision and rounded once: two libraries that differ by an ulp of a double differ in
f32 for about one value in 2^28. In f32 alone they do not agree: vector code, the scalar code for a tensor's tail, and
a GPU's exponential each round in their own way (measured on CPU: `sigmoid` even within one tensor).
"""

from __future__ import annotations

import torch
from torch import Tensor


def exp(x: Tensor) -> Tensor:
    """exp(x), f32."""
    return torch.exp(x.double()).float()


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), f32; saturates to 0 and 1."""
    return (1.0 / (1.0 + torch.exp(-x.double()))).float()


def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), f32."""
    wide = x.double()
    return (wide / (1.0 + torch.exp(-wide))).float()


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), f32, without overflow."""
    wide = x.double()
    return (wide.clamp(min=0) + torch.log1p(torch.exp(-wide.abs()))).float()


def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x), two correctly rounded operations."""
    return 1.0 / torch.sqrt(x)
