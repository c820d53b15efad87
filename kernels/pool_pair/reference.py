"""Gated pooling of a pair of positions, channel by channel."""

from __future__ import annotations

from torch import Tensor

from kernels import elementary

CLAIM = "bits"


def run(out: Tensor, k: Tensor, s: Tensor) -> None:
    """Each channel's softmax over the pair's gates, applied to the pair's keys.

    k, s  [G, 2, K] f32
    out   [G, K] bf16 or f32

    f32; the even position first in both sums. Reads and writes 18GK bytes.
    Source: written here.
    """
    weight = elementary.exp(s - s.amax(1, keepdim=True))
    pooled = k * weight
    out.copy_((pooled[:, 0] + pooled[:, 1]) / (weight[:, 0] + weight[:, 1]))
