"""Engram gate: how well each residual copy matches its key decides how much of the value it takes."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import elementary, order

CLAIM = "bits"


def run(out: Tensor, h: Tensor, kv: Tensor, qk: Tensor, eps: float) -> None:
    """out_k = h_k + sigmoid(signed root of dot_k) * value.

    h    [R, 4, D] bf16 or f32
    kv   [R, 5 D], four keys and the value
    qk   [4, D] f32, the product of the two norm weights
    out  [R, 4, D], not h

    dot = sum(h qk key) rsqrt(mean h^2 + eps) rsqrt(mean key^2 + eps) D^-0.5, f32, by 32-blocks: halves inside,
    blocks ascending; depends on D alone. The root's argument is at least 1e-6; a dot of zero counts as positive.
    Reads and writes 26RD bytes in bf16.
    Source: written here.
    """
    width = h.shape[-1]
    wide = h.float()
    parts = kv.float().unflatten(-1, (5, width))
    keys, value = parts[:, :4], parts[:, 4:]
    sums = order.total(torch.stack((wide * qk * keys, wide * wide, keys * keys)))  # [3, R, 4]
    scale = elementary.rsqrt(sums[1] * (1.0 / width) + eps) * elementary.rsqrt(sums[2] * (1.0 / width) + eps)
    dot = sums[0] * (scale * width**-0.5)
    root = torch.sqrt(dot.abs().clamp(min=1e-6))
    gate = elementary.sigmoid(torch.where(dot < 0, -root, root))
    out.copy_(wide + gate[..., None] * value)
