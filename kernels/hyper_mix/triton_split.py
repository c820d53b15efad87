"""Hyper-connection coefficients in two launches: block sums on the whole device, then the rest in one program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from kernels.device import EXACT, ROWS, exp, jit, rsqrt, sigmoid, tl
from kernels.hyper_mix.sinkhorn import Mix
from kernels.split import ascend, block_sums, room, unrolled

CLAIM = "bits"
COLUMNS = 32  # 24 mixes, the sum of squares, and what fills the tile


class Laid(NamedTuple):
    """A mix as the launches take it: fn [24, 4D] f32, and room for the block sums of its products."""

    fn: Tensor
    mix: Mix
    parts: Tensor


def prepare(weights: Sequence[Mix]) -> tuple[Laid, ...]:
    """fn turned, so that a block's weights lie together, once."""
    return tuple(Laid(mix.fn.t().contiguous(), mix, room(len(mix.fn) // 32, COLUMNS, mix.fn.device)) for mix in weights)


def run(pre: Tensor, post: Tensor, comb: Tensor, h: Tensor, laid: Laid) -> None:
    """As `hyper_mix/reference`, with the squares summed beside the mixes, as `hyper_mix/torch_folded` does.

    h     [R, 4, D] bf16 or f32, contiguous, R up to 8, D a multiple of 8
    pre   [R, 4] f32, post [R, 4] f32, comb [R, 4, 4] f32 with the source copy first, contiguous

    f32 sums over 4D by 32-blocks: halves inside, blocks ascending; depends on D alone. Sums of four by halves.
    Exponentials are rounded once from double precision; no product is fused into a sum. One tile of eight rows,
    masked, whatever R. Reads 384D + 8RD bytes, and writes and reads 512D of block sums, which stay in the L2 cache.
    Source: written here.
    """
    rows, mix, (blocks, _, stride) = len(h), laid.mix, laid.parts.shape
    assert rows <= ROWS and all(tensor.is_contiguous() for tensor in (pre, post, comb, h))
    width = blocks * 32
    block_sums[(1, blocks)](
        laid.parts,
        h,
        rows,
        width,
        laid.fn,
        N=24,
        K=width,
        STRIDE=stride,
        SQUARES=True,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        **EXACT,
    )
    _coefficients[(1,)](
        pre,
        post,
        comb,
        laid.parts,
        rows,
        mix.scale,
        mix.base,
        mix.eps,
        mix.norm_eps,
        WIDTH=width,
        STRIDE=stride,
        PASSES=mix.passes,
        ROWS=ROWS,
        UNROLL=unrolled(blocks),
        **EXACT,
    )


@jit
def _coefficients(
    pre,
    post,
    comb,
    parts,
    rows,
    scale,
    base,
    eps,
    norm_eps,
    WIDTH: tl.constexpr,
    STRIDE: tl.constexpr,
    PASSES: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    row = tl.arange(0, ROWS)[:, None]
    lane = tl.arange(0, 32)[None, :]
    sums = ascend(parts, row * STRIDE + lane, lane < 25, ROWS * STRIDE, WIDTH // 32, UNROLL)
    squares = tl.gather(sums, tl.full((ROWS, 1), 24, tl.int32), 1)
    mixes = sums * rsqrt(squares * (1.0 / WIDTH) + norm_eps)
    group = tl.load(scale + tl.minimum(lane // 4, 2))
    mixes = mixes * group + tl.load(base + lane, mask=lane < 24, other=0)
    gates = sigmoid(mixes)
    tl.store(pre + row * 4 + lane, gates + eps, mask=(row < rows) & (lane < 4))
    tl.store(post + row * 4 + lane - 4, 2.0 * gates, mask=(row < rows) & (lane >= 4) & (lane < 8))

    place = tl.arange(0, 16)[None, :]
    raw = tl.reshape(tl.gather(mixes, place + 8 + row * 0, 1), (ROWS, 4, 4))  # [row, source, target]
    c = exp(raw - tl.max(raw, 2)[:, :, None])
    c = tl.div_rn(c, _four(c, ROWS)[:, :, None]) + eps
    c = tl.div_rn(c, (_four(tl.permute(c, (0, 2, 1)), ROWS) + eps)[:, None, :])
    for _ in range(PASSES - 1):
        c = tl.div_rn(c, (_four(c, ROWS) + eps)[:, :, None])
        c = tl.div_rn(c, (_four(tl.permute(c, (0, 2, 1)), ROWS) + eps)[:, None, :])
    tl.store(comb + row * 16 + place, tl.reshape(c, (ROWS, 16)), mask=row < rows)


@jit
def _four(c, ROWS: tl.constexpr):
    """Sums over the last dimension of c [ROWS, 4, 4] by halves: (0 + 2) + (1 + 3)."""
    a, b = tl.split(tl.permute(tl.reshape(c, (ROWS, 4, 2, 2)), (0, 1, 3, 2)))
    a, b = tl.split(a + b)
    return a + b
