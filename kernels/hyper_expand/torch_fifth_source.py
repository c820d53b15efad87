"""Expand with the sublayer's output as a fifth source: one kind of product, one running sum."""

from __future__ import annotations

import torch
from torch import Tensor

CLAIM = "bits"


def run(out: Tensor, h: Tensor, y: Tensor, post: Tensor, comb: Tensor) -> None:
    """As `hyper_expand/reference`: out_k = sum over five sources of a coefficient times the source, y the last.

    h [R, 4, D], y [R, D] bf16 or f32; post [R, 4], comb [R, 4, 4] f32 (source first); out [R, 4, D], not h

    f32, sources ascending, y last, each a product and an add; the last add lands in the output. Holds 32RD bytes
    where the reference holds 64RD and more. Reads and writes 18RD bytes in bf16.
    Source: written here.
    """
    sources = (*h.unbind(1), y)
    coefficients = (*comb.unbind(1), post)
    products = (source[:, None] * c[..., None] for source, c in zip(sources, coefficients, strict=True))
    acc = next(products)
    for _ in range(3):
        acc.add_(next(products))
    torch.add(acc, next(products), out=out)
