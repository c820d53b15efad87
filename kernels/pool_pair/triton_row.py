"""Gated pooling in one launch: a program a pair and a piece of the channels, one exponential a channel."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, exp, jit, piece, rounded, tl

CLAIM = "bits"


def run(out: Tensor, k: Tensor, s: Tensor) -> None:
    """As `pool_pair/reference`, where the larger gate's weight is exactly 1 and the other's exp(-|s0 - s1|).

    k, s  [G, 2, K] f32, channels contiguous
    out   [G, K] bf16 or f32, contiguous

    f32; the even position first in both sums, no product fused into a sum; the exponential is rounded once from
    double precision. A program knows one pair. Reads and writes 18GK bytes.
    Source: written here.
    """
    assert out.is_contiguous() and k.stride() == s.stride() and k.stride(-1) == 1
    pairs, _, width = k.shape
    block, pieces = piece(width)
    _pool[(pairs, pieces)](out, k, s, k.stride(0), k.stride(1), K=width, BLOCK=block, **EXACT)


@jit
def _pool(out, k, s, pair_stride, odd_stride, K: tl.constexpr, BLOCK: tl.constexpr):
    pair = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < K
    even = tl.load(s + pair * pair_stride + place, mask=inside, other=0)
    odd = tl.load(s + pair * pair_stride + odd_stride + place, mask=inside, other=0)
    smaller = exp(-tl.abs(even - odd))
    even_weight = tl.where(even >= odd, 1.0, smaller)
    odd_weight = tl.where(odd >= even, 1.0, smaller)
    even_key = tl.load(k + pair * pair_stride + place, mask=inside, other=0)
    odd_key = tl.load(k + pair * pair_stride + odd_stride + place, mask=inside, other=0)
    v = tl.div_rn(even_key * even_weight + odd_key * odd_weight, even_weight + odd_weight)
    tl.store(out + pair * K + place, rounded(v, out).to(out.dtype.element_ty), mask=inside)
