"""Index scores: heads' rectified products with the keys, weighted and summed."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import order

CLAIM = "bits"


def run(out: Tensor, query: Tensor, weights: Tensor, visible: Tensor, keys: Tensor, scale: float) -> None:
    """score[r, t] = sum over heads of relu(query . key) * weight, -inf where t is not visible.

    query    [R, H, K] f32 or bf16
    weights  [R, H], times `scale` first
    visible  [R] int64, how many leading slots a row may see
    keys     [T, K] f32
    out      [R, T] f32 or bf16; its dtype is also that of the products, the weights and the sum

    f32 sums over K, then over H: 32-blocks ascending, halves inside; each rounded to the output's dtype.
    Depends on K and H alone. Reads 4TK bytes here, 68 a slot packed.
    Source: written here.
    """
    dtype = out.dtype
    slots = keys.shape[0]
    flat = query.float().flatten(0, 1)  # [R * H, K]
    products = order.dot(flat, keys.t()).to(dtype).unflatten(0, query.shape[:2])  # [R, H, T]
    scaled = (weights.to(dtype) * scale).to(dtype)
    weighted = (products.clamp(min=0) * scaled[..., None]).float()
    score = order.total(weighted.transpose(1, 2)).to(dtype)
    seen = torch.arange(slots, device=keys.device) < visible[:, None]
    out.copy_(torch.where(seen, score, float("-inf")))
