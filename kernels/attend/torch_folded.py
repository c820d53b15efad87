"""Sparse attention with its denominator folded into the values' sum, a tile of 32 entries at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import elementary, order
from kernels.attend.reference import FLOOR

CLAIM = "bits"
TILE = order.BLOCK


def run(out: Tensor, q: Tensor, rows: Tensor, visible: Tensor, sink: Tensor, scale: float) -> None:
    """As `attend/reference`, with p as a last column beside p times the values: one tree sums both.

    q        [R, H, K] bf16 or f32
    rows     [R, S, K] f32, what each row may attend to: K = V
    visible  [R, S] bool
    sink     [H] f32, unscaled, in the denominator only
    out      [R, H, K] bf16 or f32; p is rounded to its dtype before it meets the values, not in the denominator

    f32 sums over K and over S by 32-blocks: halves inside, blocks ascending; S is a size of the configuration,
    invisible entries count as zeros. Holds one tile's products, 128RH(K + 1) bytes, where the reference holds
    4RHSK. Reads 4RSK bytes here, 528 or 288 an entry packed.
    Source: written here.
    """
    z = order.dot(q.float(), rows.transpose(1, 2)) * scale  # [R, H, S]
    seen = visible[:, None, :]
    m = torch.where(seen, z, FLOOR).amax(-1, keepdim=True).clamp(min=FLOOR)
    p = torch.where(seen, elementary.exp(z - m), 0.0)
    first, *others = zip(p.split(TILE, 2), rows.split(TILE, 1), strict=True)
    products = torch.zeros((TILE, *q.shape[:2], q.shape[2] + 1), device=q.device)
    sums = _tile(products, *first, out.dtype)
    for tile in others:
        sums.add_(_tile(products, *tile, out.dtype))
    torch.div(sums[..., :-1], sums[..., -1:] + elementary.exp(sink[:, None] - m), out=out)


def _tile(products: Tensor, p: Tensor, rows: Tensor, dtype: torch.dtype) -> Tensor:
    """Sums [R, H, K + 1] over a tile of p [R, H, 32] and rows [R, 32, K]; the last tile may be short."""
    entries = rows.shape[1]
    weight = p.permute(2, 0, 1)[..., None]  # [entries, R, H, 1]
    torch.mul(weight.to(dtype).float(), rows.transpose(0, 1)[:, :, None], out=products[:entries, ..., :-1])
    products[:entries, ..., -1:] = weight
    products[entries:] = 0
    return order.total_leading(products)
