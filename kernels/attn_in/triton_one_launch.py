"""Same-input projections in one launch, each weight read as stored: nothing is laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from torch import Tensor

from kernels.device import EXACT, ROWS, jit, tl
from kernels.linear.tile import COLUMNS, Packed, in_order, pack, store
from kernels.matrix import Matrix

CLAIM = "bits"


def prepare(matrices: Sequence[Matrix]) -> tuple[Packed, ...]:
    """The stored bytes of each; nothing is widened or moved."""
    return tuple(pack(matrix) for matrix in matrices)


def run(*arguments: Tensor | Packed) -> None:
    """run(*outputs, x, *weights): every projection of x [R, D], as `attn_in/reference` writes them.

    x        [R, D] bf16 or f32, R up to 8, D a multiple of 32
    weights  [N_i, D] as stored, of any format each
    outputs  [R, N_i] bf16 or f32, one a projection

    A program takes 32 columns of one projection. f32 sums over D by 32-blocks: halves inside, blocks ascending;
    depends on D alone. One tile of eight rows, masked, whatever R. Reads every weight once, as stored.
    Source: written here.
    """
    weights = [a for a in arguments if isinstance(a, Packed)]
    *outputs, x = [a for a in arguments if isinstance(a, Tensor)]
    assert len(x) <= ROWS and x.stride(-1) == 1 and all(out.stride(-1) == 1 for out in outputs)
    first = tuple(accumulate((weight.tiles for weight in weights), initial=0))
    _project[(first[-1],)](
        tuple(outputs),
        tuple(out.stride(0) for out in outputs),
        x,
        x.stride(0),
        len(x),
        tuple(weight.codes for weight in weights),
        tuple(weight.scales for weight in weights),
        FIRST=first,
        N=tuple(weight.n for weight in weights),
        K=x.shape[-1],
        KIND=tuple(weight.kind for weight in weights),
        QUANTISE=tuple(weight.quantise for weight in weights),
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        **EXACT,
    )


@jit
def _project(
    outputs,
    strides,
    x,
    x_stride,
    rows,
    codes,
    scales,
    FIRST: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    KIND: tl.constexpr,
    QUANTISE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    tile = tl.program_id(0)
    row = tl.arange(0, ROWS)
    live = row < rows
    for i in tl.static_range(len(N)):
        if (tile >= FIRST[i]) & (tile < FIRST[i + 1]):
            width: tl.constexpr = N[i]
            kind: tl.constexpr = KIND[i]
            quantise: tl.constexpr = QUANTISE[i]
            n = (tile - FIRST[i]) * COLUMNS + tl.arange(0, COLUMNS)
            v = in_order(x, row * x_stride, live, codes[i], scales[i], n, width, K, kind, quantise, ROWS, COLUMNS)
            store(outputs[i], v, row * strides[i], live, n, width)
