"""What Triton kernels share: the language, the fixed order of sums, and roundings that every machine does alike.

Where Triton is not installed a kernel's file can still be imported and read; naming the kernel says what is missing
(kernels/address.py). Launches of kernels that claim 'bits' pass `**EXACT`: without it the compiler may fuse a
product into a sum.

Traps that these functions step around: `/` and `tl.sqrt` are approximate on f32 (`tl.div_rn`, `tl.sqrt_rn` are not),
`tl.sum` adds in an order of the compiler's, `tl.exp` on f32 is a machine's own, and the interpreter cuts f32 to bf16.
"""

from __future__ import annotations

from typing import Any


def _as_it_is(function: Any = None, **options: Any) -> Any:
    """Where there is no Triton: nothing can be launched."""
    return function or _as_it_is


try:
    import triton
    import triton.language
except ModuleNotFoundError as missing:
    if missing.name != "triton":
        raise
    triton = None

tl: Any = triton.language if triton else None
jit: Any = triton.jit if triton else _as_it_is
EXACT = {"enable_fp_fusion": False}
ROWS = 8  # the one row tile, for one to eight rows
PIECE = 1024  # most elements of a program that needs no neighbours


def power_of_two(size: int) -> int:
    """The least power of two that is not below `size`: what a tile's side has to be."""
    return 1 << (size - 1).bit_length()


def piece(width: int) -> tuple[int, int]:
    """A tile for elementwise work on `width` elements, and how many of them cover it."""
    block = min(PIECE, power_of_two(width))
    return block, -(-width // block)


@jit
def halves(v, COUNT: tl.constexpr):
    """Sum of each 32: v [COUNT, 32] f32 -> [COUNT] f32, element i with i + 16, then + 8, 4, 2, 1."""
    a, b = tl.split(tl.permute(tl.reshape(v, (COUNT, 2, 16)), (0, 2, 1)))
    a, b = tl.split(tl.permute(tl.reshape(a + b, (COUNT, 2, 8)), (0, 2, 1)))
    a, b = tl.split(tl.permute(tl.reshape(a + b, (COUNT, 2, 4)), (0, 2, 1)))
    a, b = tl.split(tl.permute(tl.reshape(a + b, (COUNT, 2, 2)), (0, 2, 1)))
    a, b = tl.split(a + b)
    return a + b


@jit
def ascending(sums, COUNT: tl.constexpr):
    """The first COUNT of sums [PADDED] f32 added one after another -> [1] f32."""
    acc = tl.gather(sums, tl.zeros((1,), tl.int32), 0)
    for block in range(1, COUNT):
        acc += tl.gather(sums, tl.full((1,), block, tl.int32), 0)
    return acc


@jit
def bf16_round(v):
    """The nearest bf16, ties to even, of f32 values, as f32; NaN stays NaN."""
    bits = v.to(tl.int32, bitcast=True)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & -65536
    return tl.where(v == v, bits.to(tl.float32, bitcast=True), v)


@jit
def rounded(v, like):
    """f32 values rounded to the element type of the pointer `like`, bf16 or f32, as f32."""
    return bf16_round(v) if like.dtype.element_ty == tl.bfloat16 else v


@jit
def exp(v):
    """exp(v) of f32, rounded once from double precision, as kernels/elementary.py has it."""
    return tl.exp(v.to(tl.float64)).to(tl.float32)


@jit
def sigmoid(v):
    """1 / (1 + exp(-v)) of f32, as kernels/elementary.py has it."""
    return tl.div_rn(1.0, 1.0 + exp(-v))


@jit
def silu(v):
    """v / (1 + exp(-v)) of f32, as kernels/elementary.py has it."""
    return tl.div_rn(v, 1.0 + exp(-v))


@jit
def softplus(v):
    """log(1 + exp(v)) of f32, rounded once from double precision."""
    wide = v.to(tl.float64)
    t = tl.exp(-tl.abs(wide))
    u = 1.0 + t
    # Double precision has no log1p here; what 1 + t loses of a small t, the quotient gives back.
    log1p = tl.where(u == 1.0, t, tl.log(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))
    return (tl.maximum(wide, 0.0) + log1p).to(tl.float32)


@jit
def rsqrt(v):
    """1 / sqrt(v), two correctly rounded operations, as kernels/elementary.py has it."""
    return tl.div_rn(1.0, tl.sqrt_rn(v))
