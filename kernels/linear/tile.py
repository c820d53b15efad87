"""A tile of a linear layer, as Triton kernels compute it: input quantised on the way in, weight read as stored."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels.device import EXACT, ROWS, halves, jit, rounded, tl
from kernels.matrix import Matrix

COLUMNS = 32
KINDS = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float8_e4m3fn: "fp8", torch.int8: "fp4"}


class Packed(NamedTuple):
    """A weight as a launch takes it; nothing is widened or moved.

    codes     [..., N, K] f32 or bf16, E4M3 bytes uint8, or [..., N, K / 2] uint8 of E2M1 pairs
    scales    UE8M0 bytes uint8; the codes again where there are none
    kind      'f32', 'bf16', 'fp8' or 'fp4'
    n, k      sizes of the weight, or of one of several
    quantise  Q8 acts on the input first
    """

    codes: Tensor
    scales: Tensor
    kind: str
    n: int
    k: int
    quantise: bool

    @property
    def tiles(self) -> int:
        """Programs that cover the columns."""
        return -(-self.n // COLUMNS)


def pack(matrix: Matrix) -> Packed:
    """The stored bytes of a weight, contiguous."""
    stored = matrix.stored
    kind = KINDS[stored.codes.dtype]
    codes = stored.codes.contiguous()
    codes = codes.view(torch.uint8) if kind in ("fp8", "fp4") else codes
    n, width = codes.shape[-2:]
    k = 2 * width if kind == "fp4" else width
    assert k % 32 == 0, f"sums run in blocks of 32, and K is {k}"
    return Packed(codes, codes if stored.scales is None else stored.scales.contiguous(), kind, n, k, matrix.quantise)


@jit
def q8(v, COUNT: tl.constexpr):
    """Quantise-dequantise each 32 of v [COUNT, 32] f32 to E4M3 with a power-of-two scale, as codecs.q8 does."""
    amax = tl.maximum(tl.max(tl.abs(v), 1), 1e-4) * (1.0 / 448.0)
    bits = (amax.to(tl.int32, bitcast=True) + 0x007FFFFF) & 0x7F800000
    scale = bits.to(tl.float32, bitcast=True)
    inverse = (0x7F000000 - bits).to(tl.float32, bitcast=True)  # exact: the scale is a power of two
    return e4m3_round(tl.clamp(v * inverse[:, None], -448.0, 448.0)) * scale[:, None]


@jit
def e4m3_round(v):
    """The nearest E4M3 value, ties to even, of f32 values within +-448."""
    bits = v.to(tl.int32, bitcast=True)
    normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) & -0x100000).to(tl.float32, bitcast=True)
    small = (tl.abs(v) + 16384.0) - 16384.0  # below 2^-6 codes are 2^-9 apart, as f32 values are at 2^14
    small = (small.to(tl.int32, bitcast=True) | (bits & -0x80000000)).to(tl.float32, bitcast=True)
    return tl.where(tl.abs(v) < 0.015625, small, normal)


@jit
def scale_of(code):
    """UE8M0 bytes -> f32 powers of two."""
    wide = code.to(tl.int32)
    return tl.where(wide == 0, 0x00400000, wide << 23).to(tl.float32, bitcast=True)


@jit
def input_block(x, at, live, block, ROWS: tl.constexpr, WIDTH: tl.constexpr, QUANTISE: tl.constexpr):
    """Block `block` of WIDTH columns of the rows that begin `at` [ROWS] in x -> [ROWS, WIDTH] f32, 0 where none is."""
    k = block * WIDTH + tl.arange(0, WIDTH)
    v = tl.load(x + at[:, None] + k[None, :], mask=live[:, None], other=0).to(tl.float32)
    if QUANTISE:
        count: tl.constexpr = ROWS * WIDTH // 32
        v = tl.reshape(q8(tl.reshape(v, (count, 32)), count), (ROWS, WIDTH))
    return v


@jit
def weight_block(codes, scales, n, block, N: tl.constexpr, K: tl.constexpr, WIDTH: tl.constexpr, KIND: tl.constexpr):
    """Rows n [COLUMNS] and block `block` of WIDTH columns of a stored weight [N, K] -> [COLUMNS, WIDTH] f32."""
    k = (block * WIDTH + tl.arange(0, WIDTH))[None, :]
    row, inside = n.to(tl.int64)[:, None], (n < N)[:, None]
    if KIND == "fp4":
        code = tl.load(codes + row * (K // 2) + k // 2, mask=inside, other=0).to(tl.int32) >> (k % 2 * 4)
        bits = ((code & 8) << 28) | ((code & 7) << 22)
        scale = tl.load(scales + row * (K // 32) + k // 32, mask=inside, other=127)
        return bits.to(tl.float32, bitcast=True) * (2.0**126) * scale_of(scale)
    if KIND == "fp8":
        code = tl.load(codes + row * K + k, mask=inside, other=0).to(tl.int32)
        bits = ((code & 128) << 24) | ((code & 127) << 20)
        scale = tl.load(scales + row // 32 * (K // 32) + k // 32, mask=inside, other=127)
        return bits.to(tl.float32, bitcast=True) * (2.0**120) * scale_of(scale)
    return tl.load(codes + row * K + k, mask=inside, other=0).to(tl.float32)


@jit
def block_sum(x, w, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """x [ROWS, 32] times w [COLUMNS, 32] -> [ROWS, COLUMNS], each sum by halves."""
    products = tl.reshape(x[:, None, :] * w[None, :, :], (ROWS * COLUMNS, 32))
    return tl.reshape(halves(products, ROWS * COLUMNS), (ROWS, COLUMNS))


@jit
def in_order(
    x,
    at,
    live,
    codes,
    scales,
    n,
    N: tl.constexpr,
    K: tl.constexpr,
    KIND: tl.constexpr,
    QUANTISE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Rows of x times weight rows n [COLUMNS] -> [ROWS, COLUMNS] f32 in the order of kernels/order.py."""
    acc = tl.full((ROWS, COLUMNS), -0.0, tl.float32)  # what leaves every first addend as it is, -0 too
    for block in range(K // 32):
        v = input_block(x, at, live, block, ROWS, 32, QUANTISE)
        acc += block_sum(v, weight_block(codes, scales, n, block, N, K, 32, KIND), ROWS, COLUMNS)
    return acc


@jit
def store(out, v, at, live, n, N: tl.constexpr):
    """Columns n of the rows that begin `at` in out, from v [ROWS, COLUMNS] f32, rounded to the output's dtype."""
    kept = rounded(v, out).to(out.dtype.element_ty)
    tl.store(out + at[:, None] + n[None, :], kept, mask=live[:, None] & (n < N)[None, :])


@jit
def part(codes, scales, index, N: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr):
    """Where the weight `index` of several [N, K] begins: its codes and scales."""
    size = index.to(tl.int64) * N * K
    if KIND == "fp4":
        return codes + size // 2, scales + size // 32
    if KIND == "fp8":
        return codes + size, scales + size // 1024
    return codes + size, scales


def launch(out: Tensor, x: Tensor, weight: Packed, through: Tensor | None = None) -> None:
    """Rows times a weight, or groups of their columns times a weight each, in one launch.

    x        [R, G * K] bf16 or f32, R up to 8
    weight   [N, K] as stored, or [G, N, K]
    out      [R, G * N] bf16 or f32; rounded to the dtype of `through` on the way, where that is given
    """
    groups = weight.codes.shape[0] if weight.codes.dim() == 3 else 1
    assert len(x) <= ROWS and x.stride(-1) == 1 and out.stride(-1) == 1
    assert groups == 1 or weight.kind != "fp8" or weight.n % 32 == 0, "a scale's tile reaches over two groups"
    _columns[(weight.tiles, groups)](
        out,
        out.stride(0),
        x,
        x.stride(0),
        len(x),
        weight.codes,
        weight.scales,
        out if through is None else through,
        N=weight.n,
        K=weight.k,
        KIND=weight.kind,
        QUANTISE=weight.quantise,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        **EXACT,
    )


@jit
def _columns(
    out,
    out_stride,
    x,
    x_stride,
    rows,
    codes,
    scales,
    through,
    N: tl.constexpr,
    K: tl.constexpr,
    KIND: tl.constexpr,
    QUANTISE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    group = tl.program_id(1)
    row = tl.arange(0, ROWS)
    n = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    codes, scales = part(codes, scales, group, N, K, KIND)
    at = row * x_stride + group * K
    v = in_order(x, at, row < rows, codes, scales, n, N, K, KIND, QUANTISE, ROWS, COLUMNS)
    store(out, rounded(v, through), row * out_stride + group * N, row < rows, n, N)
