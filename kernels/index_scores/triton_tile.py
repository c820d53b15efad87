"""Index scores in one launch: a program a row and a tile of slots, all heads in registers."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, halves, jit, rounded, tl

CLAIM = "bits"
HEADS = 32  # one block of the sum over heads
TILE = 16


def run(out: Tensor, query: Tensor, weights: Tensor, visible: Tensor, keys: Tensor, scale: float) -> None:
    """As `index_scores/reference`; products, rectified and weighted, never leave the registers.

    query    [R, H, K] f32 or bf16, contiguous, K a multiple of 32, H up to 32
    weights  [R, H] f32 or bf16, contiguous, times `scale` first
    visible  [R] int64, how many leading slots a row may see
    keys     [T, K] f32, contiguous
    out      [R, T] f32 or bf16; its dtype is also that of the products, the weights and the sum

    f32 sums over K, then over H: 32-blocks ascending, halves inside; each rounded to the output's dtype; no product
    is fused into a sum. Depends on K and H alone: a program knows one row. Products run on the ordinary arithmetic
    units, whose order is ours. Reads 4RTK bytes of keys here, R - 1 times of them from the L2 cache; 68 a slot packed.
    Source: written here.
    """
    (rows, heads, width), slots = query.shape, len(keys)
    assert width % 32 == 0 and heads <= HEADS, f"a program holds one block of {HEADS} heads, not {heads}"
    assert all(tensor.is_contiguous() for tensor in (query, weights, visible, keys)) and out.stride(-1) == 1
    _scores[(rows, -(-slots // TILE))](
        out,
        out.stride(0),
        query,
        weights,
        visible,
        keys,
        slots,
        scale,
        H=heads,
        K=width,
        HEADS=HEADS,
        TILE=TILE,
        **EXACT,
    )


@jit(do_not_specialize=["slots"])  # the context grows from step to step: one kernel for all of its lengths
def _scores(
    out,
    out_stride,
    query,
    weights,
    visible,
    keys,
    slots,
    scale,
    H: tl.constexpr,
    K: tl.constexpr,
    HEADS: tl.constexpr,
    TILE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.program_id(1) * TILE + tl.arange(0, TILE)
    head = tl.arange(0, HEADS)
    q = query + row * H * K + head[:, None] * K
    k = keys + slot.to(tl.int64)[:, None] * K
    acc = _block(q, k, head < H, slot < slots, 0, HEADS, TILE)
    for block in range(1, K // 32):
        acc += _block(q, k, head < H, slot < slots, block, HEADS, TILE)
    products = tl.maximum(rounded(acc, out), 0.0)  # [TILE, HEADS]
    weight = rounded(tl.load(weights + row * H + head, mask=head < H, other=0).to(tl.float32), out)
    weighted = rounded(products * rounded(weight * scale, out)[None, :], out)
    weighted = tl.where(head[None, :] < H, weighted, 0.0)  # 0 times a key may be -0
    score = rounded(halves(weighted, TILE), out)
    score = tl.where(slot < tl.load(visible + row), score, float("-inf"))
    tl.store(out + row * out_stride + slot, score.to(out.dtype.element_ty), mask=slot < slots)


@jit
def _block(q, k, is_head, is_slot, block, HEADS: tl.constexpr, TILE: tl.constexpr):
    """Products of a 32-block of K summed by halves: [TILE, HEADS]."""
    channel = block * 32 + tl.arange(0, 32)[None, :]
    own = tl.load(q + channel, mask=is_head[:, None], other=0).to(tl.float32)
    other = tl.load(k + channel, mask=is_slot[:, None], other=0)
    products = tl.reshape(other[:, None, :] * own[None, :, :], (TILE * HEADS, 32))
    return tl.reshape(halves(products, TILE * HEADS), (TILE, HEADS))
