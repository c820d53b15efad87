"""Expand in one launch: a program a row and a piece of the width, all five sources in registers."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, jit, piece, rounded, tl

CLAIM = "bits"


def run(out: Tensor, h: Tensor, y: Tensor, post: Tensor, comb: Tensor) -> None:
    """As `hyper_expand/reference`: the sources are read once and serve all four targets.

    h [R, 4, D], y [R, D] bf16 or f32; post [R, 4], comb [R, 4, 4] f32 (source first); out [R, 4, D], not h;
    all contiguous

    f32, sources ascending, then post_k y added to their sum, no product fused into a sum. A program knows one row.
    Reads and writes 18RD bytes in bf16.
    Source: written here.
    """
    assert all(tensor.is_contiguous() for tensor in (out, h, y, post, comb))
    rows, _, width = h.shape
    block, pieces = piece(width)
    _expand[(rows, pieces)](out, h, y, post, comb, D=width, BLOCK=block, **EXACT)


@jit
def _expand(out, h, y, post, comb, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < D
    first = h + row * 4 * D + place
    h0 = tl.load(first, mask=inside).to(tl.float32)
    h1 = tl.load(first + D, mask=inside).to(tl.float32)
    h2 = tl.load(first + 2 * D, mask=inside).to(tl.float32)
    h3 = tl.load(first + 3 * D, mask=inside).to(tl.float32)
    own = tl.load(y + row * D + place, mask=inside).to(tl.float32)
    for copy in tl.static_range(4):
        c = comb + row * 16 + copy
        mixed = h0 * tl.load(c) + h1 * tl.load(c + 4) + h2 * tl.load(c + 8) + h3 * tl.load(c + 12)
        v = tl.load(post + row * 4 + copy) * own + mixed
        tl.store(out + row * 4 * D + copy * D + place, rounded(v, out).to(out.dtype.element_ty), mask=inside)
