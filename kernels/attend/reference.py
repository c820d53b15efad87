"""Sparse multi-query attention with sinks: keys are values, window and latents side by side."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import elementary, order

CLAIM = "bits"
FLOOR = -1e30


def run(out: Tensor, q: Tensor, rows: Tensor, visible: Tensor, sink: Tensor, scale: float) -> None:
    """o = sum of p * row / (sum of p + exp(sink - m)), p = exp(q . row * scale - m), m the largest score.

    q        [R, H, K] bf16 or f32
    rows     [R, S, K] f32, what each row may attend to: K = V
    visible  [R, S] bool
    sink     [H] f32, unscaled, in the denominator only
    out      [R, H, K] bf16 or f32; p is rounded to its dtype before it meets the values

    f32 sums over K and over S by 32-blocks: halves inside, blocks ascending; S is a size of the configuration,
    invisible entries count as zeros. Reads 4RSK bytes here, 528 or 288 an entry packed.
    Source: written here.
    """
    z = order.dot(q.float(), rows.transpose(1, 2)) * scale  # [R, H, S]
    seen = visible[:, None, :]
    m = torch.where(seen, z, FLOOR).amax(-1, keepdim=True).clamp(min=FLOOR)
    p = torch.where(seen, elementary.exp(z - m), 0.0)
    norm = order.total(p)[..., None] + elementary.exp(sink[:, None] - m)
    out.copy_(order.dot(p.to(out.dtype).float(), rows) / norm)
