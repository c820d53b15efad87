"""The shared expert in two launches: gate and up to the middle value, and down."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels.device import EXACT, ROWS, jit, tl
from kernels.experts.reference import Experts
from kernels.experts.tile import PackedExperts, gated, pack_experts
from kernels.linear.tile import COLUMNS, in_order, launch, store

CLAIM = "bits"


def prepare(weights: Sequence[Experts]) -> tuple[PackedExperts, ...]:
    """The stored bytes; nothing is widened."""
    return pack_experts(weights)


def run(out: Tensor, x: Tensor, expert: PackedExperts) -> None:
    """As `swiglu/reference`; both products of x, the clamps and the SwiGLU are one launch.

    x       [R, D] bf16 or f32, R up to 8
    expert  w1, w3 [I, D], w2 [D, I] as stored
    out     [R, D] f32, holding values rounded to x's dtype

    f32 sums over D and I by 32-blocks: halves inside, blocks ascending; depends on the sizes alone. One tile of
    eight rows, masked, whatever R. Reads 3DI (1 + 1/1024) bytes as FP8; writes and reads RI of x's elements between.
    Source: written here.
    """
    assert len(x) <= ROWS and x.stride(-1) == 1
    w1, w3 = expert.w1, expert.w3
    middle = expert.between("middle", 1, w1.n, x)
    _gate_up[(w1.tiles,)](
        middle,
        x,
        x.stride(0),
        len(x),
        w1.codes,
        w1.scales,
        w3.codes,
        w3.scales,
        expert.limit,
        INNER=w1.n,
        D=w1.k,
        KIND=w1.kind,
        QUANTISE=w1.quantise,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        **EXACT,
    )
    launch(out, middle[: len(x)], expert.w2, through=x)


@jit
def _gate_up(
    middle,
    x,
    x_stride,
    rows,
    codes1,
    scales1,
    codes3,
    scales3,
    limit,
    INNER: tl.constexpr,
    D: tl.constexpr,
    KIND: tl.constexpr,
    QUANTISE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.arange(0, ROWS)
    live = row < rows
    n = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    gate = in_order(x, row * x_stride, live, codes1, scales1, n, INNER, D, KIND, QUANTISE, ROWS, COLUMNS)
    up = in_order(x, row * x_stride, live, codes3, scales3, n, INNER, D, KIND, QUANTISE, ROWS, COLUMNS)
    store(middle, gated(gate, up, 1.0, limit, x), row * INNER, live, n, INNER)
