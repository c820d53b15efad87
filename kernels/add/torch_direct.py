"""Routed and shared experts together, in one operation."""

from __future__ import annotations

import torch
from torch import Tensor

CLAIM = "bits"


def run(out: Tensor, a: Tensor, b: Tensor) -> None:
    """As `add/reference`, with the rounding inside the add: one operation, no f32 sum to read back.

    a, b [R, D] f32, out [R, D] bf16 or f32

    a + b in f32, rounded to the output's dtype; no sums over a dimension. Reads and writes 10RD bytes in bf16.
    Source: written here.
    """
    torch.add(a, b, out=out)
