"""Elementary functions whose result for a value depends neither on where it stands in a tensor nor on the machine.

Exponential and logarithm are taken in double precision and rounded once: two libraries that differ by an ulp of a
double differ in f32 for about one value in 2^28. In f32 alone they do not agree: vector code, the scalar code for a
tensor's tail, and a GPU's own exponential each round in their own way. What is built on them uses correctly rounded
operations alone.
"""

from __future__ import annotations

import torch
from torch import Tensor


def exp(x: Tensor) -> Tensor:
    """exp(x), f32, rounded once."""
    return torch.exp(x.double()).float()


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), f32; saturates to 0 and 1."""
    return 1.0 / (1.0 + exp(-x))


def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), f32."""
    return x / (1.0 + exp(-x))


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), f32, rounded once, without overflow."""
    wide = x.double()
    return (wide.clamp(min=0) + torch.log1p(torch.exp(-wide.abs()))).float()


def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x), two correctly rounded operations."""
    return 1.0 / torch.sqrt(x)
