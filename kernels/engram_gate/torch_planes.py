"""Engram gate whose products are written once, where their sums are taken."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import elementary, order

CLAIM = "bits"


def run(out: Tensor, h: Tensor, kv: Tensor, qk: Tensor, eps: float) -> None:
    """As `engram_gate/reference`, with the three sums' products in planes [D, 3, R, 4] that are summed in place.

    h    [R, 4, D] bf16 or f32
    kv   [R, 5 D], four keys and the value
    qk   [4, D] f32, the product of the two norm weights
    out  [R, 4, D], not h

    f32, D leading: halves of 32-blocks are adds of contiguous planes, then the blocks ascending; depends on D
    alone, a multiple of 32. The reference stacks the products and turns them; here each is written once.
    Reads and writes 26RD bytes in bf16.
    Source: written here.
    """
    rows, copies, width = h.shape
    wide = h.float()
    parts = kv.float().unflatten(-1, (5, width))
    keys, value = parts[:, :4], parts[:, 4:]
    planes = torch.empty((width, 3, rows, copies), device=h.device)
    match, own, other = planes.permute(1, 2, 3, 0)  # each [R, 4, D]
    torch.mul(wide * qk, keys, out=match)
    torch.mul(wide, wide, out=own)
    torch.mul(keys, keys, out=other)
    dots, squares, key_squares = order.total_leading(planes)
    scale = elementary.rsqrt(squares * (1.0 / width) + eps) * elementary.rsqrt(key_squares * (1.0 / width) + eps)
    dot = dots * (scale * width**-0.5)
    root = torch.sqrt(dot.abs().clamp(min=1e-6))
    gate = elementary.sigmoid(torch.where(dot < 0, -root, root))
    torch.add(wide, gate[..., None] * value, out=out)
