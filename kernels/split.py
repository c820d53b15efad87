"""Sums over K that many programs share and whose order stays the one order: block sums apart, then the adds ascending.

A first launch writes every 32-block's sum to `parts`, block after block, so that the weight is read by as many
programs as it has blocks; a second adds them, lane by lane, in ascending order. `parts` is [K / 32, 8, stride] f32,
allocated when a kernel is bound, written whole before it is read.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kernels.device import ROWS, halves, jit, tl
from kernels.linear.tile import block_sum

UNROLL = 16  # loads in flight before the adds that wait for them


def room(blocks: int, columns: int, device: torch.device) -> Tensor:
    """Scratch for the block sums of eight rows."""
    return torch.empty((blocks, ROWS, columns), device=device)


def unrolled(blocks: int) -> int:
    """How many blocks `ascend` loads at once: what divides their count."""
    return math.gcd(blocks, UNROLL)


@jit
def block_sums(
    parts,
    x,
    rows,
    stride,
    w,
    N: tl.constexpr,
    K: tl.constexpr,
    STRIDE: tl.constexpr,
    SQUARES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Block sums of x [rows, K of stride] times w [N, K]; with SQUARES, column N gets those of x times x.

    Program (i, b): columns COLUMNS * i and on, block b.
    """
    n = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row, block = tl.arange(0, ROWS), tl.program_id(1)
    k = (block * 32 + tl.arange(0, 32))[None, :]
    place = (block * ROWS + row) * STRIDE
    v = tl.load(x + row[:, None] * stride + k, mask=(row < rows)[:, None], other=0).to(tl.float32)
    weight = tl.load(w + n[:, None] * K + k, mask=(n < N)[:, None], other=0).to(tl.float32)
    sums = block_sum(v, weight, ROWS, COLUMNS)
    tl.store(parts + place[:, None] + n[None, :], sums, mask=(n < N)[None, :])
    if SQUARES:
        tl.store(parts + place + N, halves(v * v, ROWS))


@jit
def ascend(parts, lane, mask, SPAN: tl.constexpr, COUNT: tl.constexpr, UNROLL: tl.constexpr):
    """parts[lane] + parts[lane + SPAN] + ... over COUNT blocks, one add after another."""
    acc = tl.load(parts + lane, mask=mask, other=0)
    for block in tl.static_range(1, UNROLL):
        acc += tl.load(parts + lane + block * SPAN, mask=mask, other=0)
    for first in range(UNROLL, COUNT, UNROLL):
        for block in tl.static_range(UNROLL):
            acc += tl.load(parts + lane + (first + block) * SPAN, mask=mask, other=0)
    return acc
