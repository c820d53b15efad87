"""A linear layer on tensor cores: the weight is the larger operand, eight rows the smaller one."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.device import EXACT, ROWS, jit, tl
from kernels.linear.tile import Packed, input_block, store, weight_block

COLUMNS = 64


def launch(out: Tensor, x: Tensor, weight: Packed) -> None:
    """Rows times a weight [N, K] as stored, in one launch.

    Operands are widened to f32. Where their values have no more than bf16's digits (stored formats, and inputs that
    are bf16 or quantised) tf32 holds them exactly, and tensor cores multiply them; others go to the ordinary units.
    """
    assert len(x) <= ROWS and x.stride(-1) == 1 and out.stride(-1) == 1
    is_short = weight.kind != "f32" and (weight.quantise or x.dtype == torch.bfloat16)
    _columns[(-(-weight.n // COLUMNS),)](
        out,
        out.stride(0),
        x,
        x.stride(0),
        len(x),
        weight.codes,
        weight.scales,
        N=weight.n,
        K=weight.k,
        WIDTH=next(width for width in (128, 64, 32) if weight.k % width == 0),
        KIND=weight.kind,
        QUANTISE=weight.quantise,
        PRECISION="tf32" if is_short else "ieee",
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
    N: tl.constexpr,
    K: tl.constexpr,
    WIDTH: tl.constexpr,
    KIND: tl.constexpr,
    QUANTISE: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.arange(0, ROWS)
    n = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    acc = tl.zeros((COLUMNS, ROWS), tl.float32)
    for block in range(K // WIDTH):
        v = input_block(x, row * x_stride, row < rows, block, ROWS, WIDTH, QUANTISE)
        w = weight_block(codes, scales, n, block, N, K, WIDTH, KIND)
        acc += tl.dot(w, tl.trans(v), input_precision=PRECISION)
    store(out, tl.trans(acc), row * out_stride, row < rows, n, N)
