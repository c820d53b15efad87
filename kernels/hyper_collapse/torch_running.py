"""Collapse as a running sum, copy after copy, the last add landing in the output."""

from __future__ import annotations

import torch
from torch import Tensor

CLAIM = "bits"


def run(out: Tensor, h: Tensor, coefficients: Tensor) -> None:
    """As `hyper_collapse/reference`, without widening the copies first: products widen as they are made.

    h [R, 4, D] bf16 or f32, coefficients [R, 4] f32, out [R, D] bf16 or f32

    f32, copies ascending: ((c0 h0 + c1 h1) + c2 h2) + c3 h3. Holds four products, 16RD bytes, where the
    reference holds 32RD and more. Reads and writes 10RD bytes in bf16.
    Source: written here.
    """
    first, *between, last = (copy * c[:, None] for copy, c in zip(h.unbind(1), coefficients.unbind(1), strict=True))
    for product in between:
        first.add_(product)
    torch.add(first, last, out=out)
