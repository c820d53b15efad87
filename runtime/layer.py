"""The layer body: attention and experts between hyper-connections, the same for backbone layers and draft stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from runtime.sites import At

Attention = Callable[[Tensor], Tensor]


class Done(NamedTuple):
    """What a layer hands on.

    h        [R, 4, D] bf16 or f32, the residual copies
    pre      [R, 4] f32, the coefficients with which the next sublayer collapses them
    experts  [R, k] int64, ascending, the experts each row went to
    """

    h: Tensor
    pre: Tensor
    experts: Tensor


def forward(at: At, h: Tensor, pre: Tensor, attention: Attention) -> Done:
    """Run one layer on h [R, 4, D] and pre [R, 4] f32.

    `attention` maps the normed input [R, D] to the sublayer's output [R, D]; see `runtime.attention`. Each
    sublayer collapses h with the coefficients of the one before it.
    """
    attn_pre, post, comb = at.attn_mix(h)
    y = attention(at.attn_norm(at.attn_collapse(h, pre)))
    h = at.attn_expand(h, y, post, comb)

    ffn_pre, post, comb = at.ffn_mix(h)
    x = at.ffn_norm(at.ffn_collapse(h, attn_pre))
    ids, weights = at.router(x)
    y = at.ffn_add(at.experts(x, ids, weights), at.shared_expert(x))
    return Done(at.ffn_expand(h, y, post, comb), ffn_pre, ids)
