"""Engram gate in one launch: a program a row and a copy, its three sums and its output from the same registers."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, ascending, halves, jit, power_of_two, rounded, rsqrt, sigmoid, tl

CLAIM = "bits"


def run(out: Tensor, h: Tensor, kv: Tensor, qk: Tensor, eps: float) -> None:
    """As `engram_gate/reference`, each element read once, the value once a copy.

    h    [R, 4, D] bf16 or f32, contiguous, D a multiple of 32
    kv   [R, 5 D], four keys and the value, contiguous
    qk   [4, D] f32, the product of the two norm weights, contiguous
    out  [R, 4, D], not h, contiguous

    dot = sum(h qk key) rsqrt(mean h^2 + eps) rsqrt(mean key^2 + eps) D^-0.5, f32, by 32-blocks: halves inside,
    blocks ascending, no product fused into a sum; depends on D alone, a program knows one row. The sigmoid is
    rounded once from double precision. Reads and writes 32RD bytes in bf16, 6RD of them from the L2 cache.
    Source: written here.
    """
    rows, copies, width = h.shape
    assert width % 32 == 0 and all(tensor.is_contiguous() for tensor in (out, h, kv, qk))
    _gate[(rows, copies)](
        out, h, kv, qk, eps, width**-0.5, COPIES=copies, D=width, PADDED=power_of_two(width), num_warps=8, **EXACT
    )


@jit
def _gate(out, h, kv, qk, eps, shrink, COPIES: tl.constexpr, D: tl.constexpr, PADDED: tl.constexpr):
    row, copy = tl.program_id(0).to(tl.int64), tl.program_id(1)
    place = tl.arange(0, PADDED)
    inside = place < D
    own = tl.load(h + (row * COPIES + copy) * D + place, mask=inside, other=0).to(tl.float32)
    key = tl.load(kv + (row * (COPIES + 1) + copy) * D + place, mask=inside, other=0).to(tl.float32)
    value = tl.load(kv + (row * (COPIES + 1) + COPIES) * D + place, mask=inside, other=0).to(tl.float32)
    weight = tl.load(qk + copy * D + place, mask=inside, other=0)
    scale = rsqrt(_total(own * own, D, PADDED) * (1.0 / D) + eps)
    scale = scale * rsqrt(_total(key * key, D, PADDED) * (1.0 / D) + eps)
    dot = _total(own * weight * key, D, PADDED) * (scale * shrink)
    root = tl.sqrt_rn(tl.maximum(tl.abs(dot), 1e-6))
    v = own + sigmoid(tl.where(dot < 0, -root, root)) * value
    tl.store(out + (row * COPIES + copy) * D + place, rounded(v, out).to(out.dtype.element_ty), mask=inside)


@jit
def _total(v, D: tl.constexpr, PADDED: tl.constexpr):
    """Sum of v [PADDED] -> [1]."""
    return ascending(halves(tl.reshape(v, (PADDED // 32, 32)), PADDED // 32), D // 32)
