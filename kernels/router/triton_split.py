"""Router in two launches: the product's block sums on the whole device, then scores and choice, a program a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.device import EXACT, ROWS, jit, power_of_two, softplus, tl
from kernels.router.reference import Gate
from kernels.split import ascend, block_sums, room, unrolled

CLAIM = "bits"
COLUMNS = 64


class Laid(NamedTuple):
    """A gate as the launches take it: w [E, D] bf16 if it holds every value, f32 otherwise; room for block sums."""

    w: Tensor
    gate: Gate
    parts: Tensor


def prepare(weights: Sequence[Gate]) -> tuple[Laid, ...]:
    """The gate's weight turned, and narrowed to bf16 where nothing is lost by it, once."""
    return tuple(lay(gate) for gate in weights)


def lay(gate: Gate) -> Laid:
    w = gate.wt.t().contiguous()
    narrow = w.to(torch.bfloat16)
    exact = torch.equal(narrow.float(), w)
    return Laid(narrow if exact else w, gate, room(w.shape[1] // 32, w.shape[0], w.device))


def run(ids: Tensor, weights: Tensor, x: Tensor, laid: Laid) -> None:
    """As `router/reference`: k times the best of what is left, then the chosen ones' places by a running count.

    x        [R, D] bf16 or f32, R up to 8, D a multiple of 32
    ids      [R, top_k] int64, ascending, contiguous
    weights  [R, top_k] f32, in the order of ids, contiguous

    f32 sums over D by 32-blocks: halves inside, blocks ascending; the weights' sum runs over ascending ids.
    Ties: higher score, then lower id. Softplus is rounded once from double precision. One tile of eight rows,
    masked, whatever R. Reads 2DE bytes as bf16, and writes and reads DE of block sums, which stay in the L2 cache.
    Source: written here.
    """
    (experts, width), gate = laid.w.shape, laid.gate
    assert len(x) <= ROWS and x.stride(-1) == 1 and ids.is_contiguous() and weights.is_contiguous()
    columns = min(COLUMNS, power_of_two(experts))
    block_sums[(-(-experts // columns), width // 32)](
        laid.parts,
        x,
        len(x),
        x.stride(0),
        laid.w,
        N=experts,
        K=width,
        STRIDE=experts,
        SQUARES=False,
        ROWS=ROWS,
        COLUMNS=columns,
        **EXACT,
    )
    _choose[(len(x),)](
        ids,
        weights,
        laid.parts,
        gate.bias,
        gate.scale,
        E=experts,
        LANES=power_of_two(experts),
        BLOCKS=width // 32,
        TOP_K=gate.top_k,
        ROWS=ROWS,
        UNROLL=unrolled(width // 32),
        **EXACT,
    )


@jit
def _choose(
    ids,
    weights,
    parts,
    bias,
    scale,
    E: tl.constexpr,
    LANES: tl.constexpr,
    BLOCKS: tl.constexpr,
    TOP_K: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    inside = lane < E
    scores = tl.sqrt_rn(softplus(ascend(parts, row * E + lane, inside, ROWS * E, BLOCKS, UNROLL)))
    left = tl.where(inside, scores + tl.load(bias + lane, mask=inside, other=0), float("-inf"))
    chosen = lane < 0
    for _ in tl.static_range(TOP_K):
        best = tl.max(left, 0)
        first = tl.min(tl.where((left == best) & inside & (chosen == 0), lane, LANES), 0)
        chosen = chosen | (lane == first)
        left = tl.where(lane == first, float("-inf"), left)
    place = tl.cumsum(chosen.to(tl.int32), 0) - 1
    # Scores are not negative, so the largest of one score and zeros is that score.
    total = tl.max(tl.where(chosen & (place == 0), scores, 0.0), 0)
    for nth in tl.static_range(1, TOP_K):
        total += tl.max(tl.where(chosen & (place == nth), scores, 0.0), 0)
    own = tl.div_rn(scores, tl.full((LANES,), 1e-20, tl.float32) + total) * scale
    tl.store(ids + row * TOP_K + place, lane.to(tl.int64), mask=chosen)
    tl.store(weights + row * TOP_K + place, own, mask=chosen)
