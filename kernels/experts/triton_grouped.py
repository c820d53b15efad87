"""Routed experts, each used one read once as stored, whatever rows share it: gate and up, down, and the sum."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels.device import EXACT, ROWS, jit, tl
from kernels.experts.reference import Experts
from kernels.experts.tile import PackedExperts, gated, members, pack_experts
from kernels.linear.tile import COLUMNS, in_order, part, store

CLAIM = "bits"
SUM_WIDTH = 256


def prepare(weights: Sequence[Experts]) -> tuple[PackedExperts, ...]:
    """The stored bytes; nothing is widened."""
    return pack_experts(weights)


def run(out: Tensor, x: Tensor, ids: Tensor, weights: Tensor, experts: PackedExperts) -> None:
    """As `experts/reference`, in three launches.

    x        [R, D] bf16 or f32, R up to 8
    ids      [R, k] int64, ascending
    weights  [R, k] f32
    experts  w1, w3 [E, I, D], w2 [E, D, I] as stored: E2M1 pairs with a UE8M0 scale for each 32 of a row
    out      [R, D] f32

    A program takes 32 columns of the expert that one (row, place) names, for all rows that share it, and ends at
    once where an earlier place names it too. f32 sums over D and I by 32-blocks, halves inside, blocks ascending;
    then over a row's places, which ascend by id, one add each. No atomics: it depends on the sizes and the row's own
    ids alone. Reads each used expert once: 3DI (1/2 + 1/32) bytes; writes and reads 2Rk (D + I) x's elements between.
    Source: written here.
    """
    rows, top_k = ids.shape
    assert rows <= ROWS and x.stride(-1) == 1 and ids.is_contiguous() and weights.is_contiguous()
    w1, w3, w2 = experts.w1, experts.w3, experts.w2
    middle = experts.between("middle", top_k, w1.n, x)
    each = experts.between("each", top_k, w2.n, x)
    places = {"TOP_K": top_k, "PLACES": 1 << (top_k - 1).bit_length(), "ROWS": ROWS}
    _gate_up[(rows * top_k, w1.tiles)](
        middle,
        x,
        x.stride(0),
        ids,
        weights,
        rows,
        w1.codes,
        w1.scales,
        w3.codes,
        w3.scales,
        experts.limit,
        INNER=w1.n,
        D=w1.k,
        KIND=w1.kind,
        QUANTISE=w1.quantise,
        COLUMNS=COLUMNS,
        **places,
        **EXACT,
    )
    _down[(rows * top_k, w2.tiles)](
        each,
        middle,
        ids,
        rows,
        w2.codes,
        w2.scales,
        INNER=w2.k,
        D=w2.n,
        KIND=w2.kind,
        QUANTISE=w2.quantise,
        COLUMNS=COLUMNS,
        **places,
        **EXACT,
    )
    _sum[(rows, -(-w2.n // SUM_WIDTH))](out, out.stride(0), each, D=w2.n, TOP_K=top_k, WIDTH=SUM_WIDTH, **EXACT)


@jit
def _gate_up(
    middle,
    x,
    x_stride,
    ids,
    weights,
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
    COLUMNS: tl.constexpr,
    TOP_K: tl.constexpr,
    PLACES: tl.constexpr,
    ROWS: tl.constexpr,
):
    expert, is_first, place = members(ids, tl.program_id(0), rows, TOP_K, PLACES, ROWS)
    if is_first:
        row = tl.arange(0, ROWS)
        live = place >= 0
        n = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        codes, scales = part(codes1, scales1, expert, INNER, D, KIND)
        gate = in_order(x, row * x_stride, live, codes, scales, n, INNER, D, KIND, QUANTISE, ROWS, COLUMNS)
        codes, scales = part(codes3, scales3, expert, INNER, D, KIND)
        up = in_order(x, row * x_stride, live, codes, scales, n, INNER, D, KIND, QUANTISE, ROWS, COLUMNS)
        weight = tl.load(weights + row * TOP_K + place, mask=live, other=0)
        store(middle, gated(gate, up, weight[:, None], limit, x), (row * TOP_K + place) * INNER, live, n, INNER)


@jit
def _down(
    each,
    middle,
    ids,
    rows,
    codes,
    scales,
    INNER: tl.constexpr,
    D: tl.constexpr,
    KIND: tl.constexpr,
    QUANTISE: tl.constexpr,
    COLUMNS: tl.constexpr,
    TOP_K: tl.constexpr,
    PLACES: tl.constexpr,
    ROWS: tl.constexpr,
):
    expert, is_first, place = members(ids, tl.program_id(0), rows, TOP_K, PLACES, ROWS)
    if is_first:
        at = tl.arange(0, ROWS) * TOP_K + place
        live = place >= 0
        n = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        codes, scales = part(codes, scales, expert, D, INNER, KIND)
        v = in_order(middle, at * INNER, live, codes, scales, n, D, INNER, KIND, QUANTISE, ROWS, COLUMNS)
        store(each, v, at * D, live, n, D)


@jit
def _sum(out, out_stride, each, D: tl.constexpr, TOP_K: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    n = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    acc = tl.load(each + row * TOP_K * D + n, mask=n < D, other=0).to(tl.float32)
    for place in tl.static_range(1, TOP_K):
        acc += tl.load(each + (row * TOP_K + place) * D + n, mask=n < D, other=0).to(tl.float32)
    tl.store(out + row * out_stride + n, acc, mask=n < D)
