"""Elementary functions whose result for a value does not depend on where the value stands in a tensor.

The library's vector code and the scalar code for a tensor's tail may round differently (measured on CPU:
`sigmoid` does, `exp` and `log1p` do not), so only those that agree are used, and a test holds them to it for
every length up to 64.
"""

from __future__ import annotations

import torch
from torch import Tensor


def exp(x: Tensor) -> Tensor:
    return torch.exp(x)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), f32; saturates to 0 and 1."""
    return 1.0 / (1.0 + torch.exp(-x))


def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), f32."""
    return x / (1.0 + torch.exp(-x))


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), f32, without overflow."""
    return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))


def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x), two correctly rounded operations."""
    return 1.0 / torch.sqrt(x)
