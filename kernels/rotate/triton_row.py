"""Rotary embedding and the cache's codec in one launch: a program a few vectors of a row."""

from __future__ import annotations

import math

from torch import Tensor

from kernels.device import EXACT, PIECE, jit, rounded, tl
from kernels.linear.tile import e4m3_round, q8

CLAIM = "bits"


def run(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, codec: str) -> None:
    """As `rotate/reference`, with nothing written between the rotation and the codec.

    x         [R, ..., K] bf16 or f32, contiguous, K a power of two
    cos, sin  [R, P] f32, contiguous
    out       [R, ..., K] bf16 or f32, contiguous
    codec     'none', 'q8', 'q4i' or 'q4kv', on the whole vector after rotation

    f32 arithmetic, no product fused into a sum, rounded to the output's dtype before the codec; no reduction but
    the codecs' block maxima. A program knows one row. Reads and writes 4RK bytes in bf16, and 8RP of the angles.
    Source: written here.
    """
    width = x.shape[-1]
    assert width & (width - 1) == 0, f"a program holds a vector of a power of two, not {width}"
    assert all(tensor.is_contiguous() for tensor in (out, x, cos, sin))
    vectors = x[0].numel() // width
    together = math.gcd(vectors, max(1, PIECE // width))
    _rotate[(len(x), vectors // together)](
        out, x, cos, sin, vectors, K=width, P=cos.shape[-1], VECTORS=together, CODEC=codec, **EXACT
    )


@jit
def _rotate(out, x, cos, sin, vectors, K: tl.constexpr, P: tl.constexpr, VECTORS: tl.constexpr, CODEC: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = (row * vectors + tl.program_id(1) * VECTORS) * K + tl.arange(0, VECTORS * K)
    v = tl.load(x + place).to(tl.float32)
    a, b = tl.split(tl.reshape(v, (VECTORS * K // 2, 2)))
    pair = tl.arange(0, VECTORS * K // 2) % (K // 2) - (K // 2 - P)
    angle = row * P + pair
    c = tl.load(cos + angle, mask=pair >= 0, other=0)
    s = tl.load(sin + angle, mask=pair >= 0, other=0)
    turned_a = tl.where(pair >= 0, a * c - b * s, a)
    turned_b = tl.where(pair >= 0, a * s + b * c, b)
    v = rounded(tl.reshape(tl.join(turned_a, turned_b), (VECTORS * K,)), out)
    if CODEC == "q8":
        v = tl.reshape(q8(tl.reshape(v, (VECTORS * K // 32, 32)), VECTORS * K // 32), (VECTORS * K,))
    elif CODEC == "q4i":
        v = tl.reshape(_q4i(tl.reshape(v, (VECTORS * K // 32, 32))), (VECTORS * K,))
    elif CODEC == "q4kv":
        v = tl.reshape(_q4kv(tl.reshape(v, (VECTORS * K // 16, 16))), (VECTORS * K,))
    tl.store(out + place, rounded(v, out).to(out.dtype.element_ty))


@jit
def _q4i(v):
    """codecs.q4i of blocks v [N, 32] f32."""
    amax = tl.maximum(tl.max(tl.abs(v), 1), 6 * 2.0**-126)
    bits = (tl.div_rn(amax, tl.full((1,), 6.0, tl.float32)).to(tl.int32, bitcast=True) + 0x007FFFFF) & 0x7F800000
    scale = bits.to(tl.float32, bitcast=True)[:, None]
    return _e2m1_round(tl.div_rn(v, scale)) * scale


@jit
def _q4kv(v):
    """codecs.q4kv of blocks v [N, 16] f32."""
    amax = tl.maximum(tl.max(tl.abs(v), 1), 6 * 2.0**-9)
    scale = e4m3_round(tl.div_rn(amax, tl.full((1,), 6.0, tl.float32)))[:, None]
    return _e2m1_round(tl.clamp(tl.div_rn(v, scale), -6.0, 6.0)) * scale


@jit
def _e2m1_round(v):
    """The nearest E2M1 value, ties to even, of f32 values within +-6; -0 stays -0."""
    bits = v.to(tl.int32, bitcast=True)
    normal = ((bits + 0x1FFFFF + ((bits >> 22) & 1)) & -0x400000).to(tl.float32, bitcast=True)
    small = (tl.abs(v) + 4194304.0) - 4194304.0  # below 1 values are 1/2 apart, as f32 values are at 2^22
    small = (small.to(tl.int32, bitcast=True) | (bits & -0x80000000)).to(tl.float32, bitcast=True)
    return tl.where(tl.abs(v) < 1.0, small, normal)
