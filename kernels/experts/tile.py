"""Experts as Triton kernels compute them: gate and up to a middle value, routed or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.device import ROWS, jit, rounded, silu, tl
from kernels.experts.reference import Experts
from kernels.linear.tile import Packed, pack


class PackedExperts(NamedTuple):
    """Weights of all experts of a layer as stored: w1, w3 [E, I, D], w2 [E, D, I]; without E of a shared one.

    scratch  what launches hand to one another, by name, places a row, and dtype; made at the first call
    """

    w1: Packed
    w3: Packed
    w2: Packed
    limit: float
    scratch: dict[tuple[str, int, torch.dtype], Tensor]

    def between(self, name: str, places: int, width: int, x: Tensor) -> Tensor:
        """A buffer [ROWS * places, width] of x's dtype."""
        key = (name, places, x.dtype)
        if key not in self.scratch:
            self.scratch[key] = torch.empty((ROWS * places, width), dtype=x.dtype, device=x.device)
        return self.scratch[key]


def pack_experts(weights: Sequence[Experts]) -> tuple[PackedExperts, ...]:
    """The stored bytes; nothing is widened."""
    return tuple(PackedExperts(pack(own.w1), pack(own.w3), pack(own.w2), own.limit, {}) for own in weights)


@jit
def gated(gate, up, weight, limit, like):
    """weight * silu(min(gate, limit)) * clamp(up, +-limit), the products' results rounded to the dtype of `like`."""
    gate = tl.minimum(rounded(gate, like), limit)
    up = tl.clamp(rounded(up, like), -limit, limit)
    return weight * silu(gate) * up


@jit
def members(ids, pair, rows, TOP_K: tl.constexpr, PLACES: tl.constexpr, ROWS: tl.constexpr):
    """Of the expert at `pair` in ids [rows, TOP_K]: its id, whether no earlier pair names it, and each row's place.

    place [ROWS] int32, -1 in a row that does not have it
    """
    expert = tl.load(ids + pair)
    row = tl.arange(0, ROWS)[:, None]
    place = tl.arange(0, PLACES)[None, :]
    inside = (row < rows) & (place < TOP_K)
    has = inside & (tl.load(ids + row * TOP_K + place, mask=inside, other=-1) == expert)
    earlier = has & (row * TOP_K + place < pair)
    is_first = tl.max(tl.max(earlier.to(tl.int32), 1), 0) == 0
    return expert, is_first, tl.max(tl.where(has, place, -1), 1)
