"""Two-level top-k in one launch: a program a row finds the k-th value by its digits and keeps what is not below it."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.device import EXACT, jit, power_of_two, tl
from kernels.select_slots.reference import Rule

CLAIM = "bits"
TILE = 1024  # slots or blocks looked at together
BITS = {torch.bfloat16: 16, torch.float32: 32}


def run(
    selected: Tensor,
    candidates: Tensor,
    scores: Tensor,
    visible: Tensor,
    allowed: Tensor,
    rule: Rule,
) -> None:
    """As `select_slots/reference`, without a sort: digits of four bits, each found by counting keys above its starts.

    selected    [R, top_k] int64, ascending, -1 behind the last; contiguous
    candidates  [R, T] bool, true in the row's best blocks; `allowed` itself unless `rule.blocks`
    scores      [R, T] f32 or bf16, -inf where not visible
    visible     [R] int64; the block with slot visible - 1 is always among the best
    allowed     [R, T] bool; slots outside score -inf

    Scores become integers of the same order (-0 as +0). Of those equal to the k-th the lowest are kept, by a running
    count, which gives every kept slot its place too. Sums count integers: no order matters. A program knows one row.
    Up to 1024 slots stay in registers; of more, each of four digits (eight in f32) reads 3RT bytes (5RT) again, from
    the L2 cache. Writes RT and 8R top_k bytes. Reads 3RT bytes.
    Source: written here.
    """
    rows, slots = scores.shape
    assert selected.is_contiguous() and visible.is_contiguous()
    assert all(tensor.stride(-1) == 1 for tensor in (candidates, scores, allowed))
    size = rule.block_size
    assert size & (size - 1) == 0, f"blocks hold a power of two of slots, not {size}"
    _select[(rows,)](
        selected,
        candidates,
        candidates.stride(0),
        scores,
        scores.stride(0),
        visible,
        allowed,
        allowed.stride(0),
        slots,
        TOP_K=rule.top_k,
        BLOCKS=rule.blocks,
        SIZE=size,
        BITS=BITS[scores.dtype],
        TILE=TILE,
        LANES=power_of_two(rule.top_k),
        **EXACT,
    )


@jit(do_not_specialize=["slots"])  # the context grows from step to step: one kernel for all of its lengths
def _select(
    selected,
    candidates,
    candidate_stride,
    scores,
    score_stride,
    visible,
    allowed,
    allowed_stride,
    slots,
    TOP_K: tl.constexpr,
    BLOCKS: tl.constexpr,
    SIZE: tl.constexpr,
    BITS: tl.constexpr,
    TILE: tl.constexpr,
    LANES: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    candidates += row * candidate_stride
    scores += row * score_stride
    allowed += row * allowed_stride
    seen = tl.load(visible + row).to(tl.int32)
    newest = tl.where(seen > 0, (seen - 1) // SIZE, -1)
    lane = tl.arange(0, TILE)
    slot_tiles = (slots + TILE - 1) // TILE
    block_tiles = (slots + TILE * SIZE - 1) // (TILE * SIZE)

    if BLOCKS > 0:
        least, room = _kth(scores, allowed, slots, newest, BLOCKS, SIZE, BITS, TILE, block_tiles)
        equals = 0
        for tile in range(block_tiles):
            first = tile * TILE
            v = _values(scores, allowed, slots, newest, first, SIZE, TILE)
            kept, equals = _kept(v, least, room, equals, BITS)
            slot = (first + lane)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
            tl.store(candidates + slot, kept[:, None] & (slot >= 0), mask=slot < slots)
    else:
        for tile in range(slot_tiles):
            place = tile * TILE + lane
            tl.store(candidates + place, tl.load(allowed + place, mask=place < slots, other=0), mask=place < slots)

    least, room = _kth(scores, allowed, slots, newest, TOP_K, 1, BITS, TILE, slot_tiles)
    equals, count = 0, 0
    for tile in range(slot_tiles):
        first = tile * TILE
        v = _values(scores, allowed, slots, newest, first, 1, TILE)
        kept, equals = _kept(v, least, room, equals, BITS)
        place = count + tl.cumsum(kept.to(tl.int32), 0) - 1
        tl.store(selected + row * TOP_K + place, (first + lane).to(tl.int64), mask=kept)
        count += tl.sum(kept.to(tl.int32), 0)
    place = tl.arange(0, LANES)
    none = tl.full((LANES,), -1, tl.int64)
    tl.store(selected + row * TOP_K + place, none, mask=(place >= count) & (place < TOP_K))


@jit
def _values(scores, allowed, slots, newest, first, SIZE: tl.constexpr, TILE: tl.constexpr):
    """Scores [TILE] f32 of slots `first` and on where allowed; or, if SIZE > 1, of blocks, the newest infinite."""
    place = first + tl.arange(0, TILE)
    if SIZE == 1:
        v = tl.load(scores + place, mask=place < slots, other=float("-inf")).to(tl.float32)
        own = tl.load(allowed + place, mask=place < slots, other=0)
        return tl.where(own != 0, v, float("-inf"))
    slot = place[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    v = tl.max(tl.load(scores + slot, mask=slot < slots, other=float("-inf")).to(tl.float32), 1)
    return tl.where(place == newest, float("inf"), v)


@jit
def _keys(v, BITS: tl.constexpr):
    """f32 scores as integers of BITS bits in the same order."""
    bits = (v + 0.0).to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> (32 - BITS)


@jit
def _kth(
    scores,
    allowed,
    slots,
    newest,
    k: tl.constexpr,
    SIZE: tl.constexpr,
    BITS: tl.constexpr,
    TILE: tl.constexpr,
    TILES,
):
    """The k-th largest key (the least of all if there are fewer), and how many of its equals are among the k."""
    least = tl.full((), -(1 << (BITS - 1)), tl.int64)
    above = tl.full((), 0, tl.int32)
    digit = tl.arange(0, 16)
    keys = _keys(_values(scores, allowed, slots, newest, 0, SIZE, TILE), BITS)
    for step in tl.static_range(BITS // 4):
        starts = (least + (digit.to(tl.int64) << (BITS - 4 - 4 * step))).to(tl.int32)[None, :]
        counts = tl.sum((keys[:, None] >= starts).to(tl.int32), 0)  # [16], keys at or above each start
        for tile in range(1, TILES):
            others = _keys(_values(scores, allowed, slots, newest, tile * TILE, SIZE, TILE), BITS)
            counts += tl.sum((others[:, None] >= starts).to(tl.int32), 0)
        found = tl.max(tl.where(counts >= k, digit, 0), 0)
        above = tl.max(tl.where(digit == found + 1, counts, above), 0)
        least += found.to(tl.int64) << (BITS - 4 - 4 * step)
    return least.to(tl.int32), k - above


@jit
def _kept(v, least, room, equals, BITS: tl.constexpr):
    """Which of v are kept, and how many equals of the k-th there have been by then."""
    keys = _keys(v, BITS)
    equal = keys == least
    rank = equals + tl.cumsum(equal.to(tl.int32), 0)
    kept = ((keys > least) | (equal & (rank <= room))) & (v > float("-inf"))
    return kept, equals + tl.sum(equal.to(tl.int32), 0)
