"""Collapse in one launch: a program a row and a piece of the width."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, jit, piece, rounded, tl

CLAIM = "bits"


def run(out: Tensor, h: Tensor, coefficients: Tensor) -> None:
    """As `hyper_collapse/reference`, each element read once and written once.

    h [R, 4, D] bf16 or f32, coefficients [R, 4] f32, out [R, D] bf16 or f32, all contiguous

    f32, copies ascending: ((c0 h0 + c1 h1) + c2 h2) + c3 h3, no product fused into a sum. A program knows one row.
    Reads and writes 10RD bytes in bf16.
    Source: written here.
    """
    assert out.is_contiguous() and h.is_contiguous() and coefficients.is_contiguous()
    rows, _, width = h.shape
    block, pieces = piece(width)
    _collapse[(rows, pieces)](out, h, coefficients, D=width, BLOCK=block, **EXACT)


@jit
def _collapse(out, h, coefficients, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < D
    source = h + row * 4 * D + place
    acc = tl.load(source, mask=inside).to(tl.float32) * tl.load(coefficients + row * 4)
    for copy in tl.static_range(1, 4):
        acc += tl.load(source + copy * D, mask=inside).to(tl.float32) * tl.load(coefficients + row * 4 + copy)
    tl.store(out + row * D + place, rounded(acc, out).to(out.dtype.element_ty), mask=inside)
