"""Index scores with heads as the leading dimension: products come out as the sum over heads reads them."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import order

CLAIM = "bits"


def run(out: Tensor, query: Tensor, weights: Tensor, visible: Tensor, keys: Tensor, scale: float) -> None:
    """As `index_scores/reference`, without turning [R, H, T] products before their sum, and weighting them in place.

    query    [R, H, K] f32 or bf16
    weights  [R, H], times `scale` first
    visible  [R] int64, how many leading slots a row may see
    keys     [T, K] f32
    out      [R, T] f32 or bf16; its dtype is also that of the products, the weights and the sum

    f32 sums over K, then over H: 32-blocks ascending, halves inside; each rounded to the output's dtype.
    Depends on K and H alone. Reads 4TK bytes here, 68 a slot packed.
    Source: written here.
    """
    heads_first = query.float().transpose(0, 1).flatten(0, 1)  # [H * R, K]
    products = order.dot(heads_first, keys.t()).to(out.dtype).unflatten(0, (query.shape[1], -1))  # [H, R, T]
    scaled = (weights.to(out.dtype) * scale).to(out.dtype)
    products.clamp_(min=0).mul_(scaled.t()[..., None])
    out.copy_(order.total(products.float().movedim(0, -1)))
    hidden = torch.arange(keys.shape[0], device=keys.device) >= visible[:, None]
    out.masked_fill_(hidden, float("-inf"))
