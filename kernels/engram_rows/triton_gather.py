"""Engram gather in one launch: a program a row and eight of its columns, decoded on the way."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, jit, rounded, tl
from kernels.linear.tile import scale_of

CLAIM = "bits"
TILE = 8


def run(out: Tensor, ids: Tensor, codes: Tensor, scales: Tensor) -> None:
    """As `engram_rows/reference`; no code or scale is written anywhere but as its product.

    ids     [R, C] int64, contiguous
    codes   [rows, K] uint8, E4M3 other than NaN, contiguous; K a power of two, at least 32
    scales  [rows, K / 32] uint8, UE8M0, contiguous
    out     [R, C * K] bf16 or f32, contiguous

    The tables may lie in pinned host memory. No sums; a code's bits moved into an f32 and scaled by powers of two
    are its value exactly. Reads C (K + K / 32) bytes a row.
    Source: written here.
    """
    columns, width = ids.shape[1], codes.shape[1]
    assert width % 32 == 0 and width & (width - 1) == 0, f"a tile holds table rows of a power of two, not {width}"
    assert all(tensor.is_contiguous() for tensor in (out, ids, codes, scales))
    tiles = -(-columns // TILE)
    _gather[(len(ids), tiles)](out, ids, codes, scales, C=columns, K=width, TILE=TILE, **EXACT)


@jit
def _gather(out, ids, codes, scales, C: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr):
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    place = tl.program_id(0).to(tl.int64) * C + column
    inside = (column < C)[:, None]
    row = tl.load(ids + place, mask=column < C, other=0)[:, None]
    channel = tl.arange(0, K)[None, :]
    code = tl.load(codes + row * K + channel, mask=inside, other=0).to(tl.int32)
    scale = scale_of(tl.load(scales + row * (K // 32) + channel // 32, mask=inside, other=0))
    bits = ((code & 128) << 24) | ((code & 127) << 20)
    v = bits.to(tl.float32, bitcast=True) * (2.0**120) * scale
    tl.store(out + place[:, None] * K + channel, rounded(v, out).to(out.dtype.element_ty), mask=inside)
