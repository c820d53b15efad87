"""Sparse attention in one launch: a program a row and a few heads, all its scores in registers."""

from __future__ import annotations

from torch import Tensor

from kernels.device import EXACT, exp, halves, jit, power_of_two, rounded, tl

CLAIM = "bits"
PRODUCTS = 1 << 15  # most of one 32-block: heads times entries times 32, or heads times K times 32


def run(out: Tensor, q: Tensor, rows: Tensor, visible: Tensor, sink: Tensor, scale: float) -> None:
    """As `attend/reference`: scores over K block by block, softmax, and values over S block by block.

    q        [R, H, K] bf16 or f32, contiguous; K a power of two, at least 32
    rows     [R, S, K] f32, what each row may attend to: K = V; S up to 1024. All rows may share one [S, K]
    visible  [R, S] bool, shared likewise
    sink     [H] f32, unscaled, in the denominator only
    out      [R, H, K] bf16 or f32, contiguous; p is rounded to its dtype before it meets the values

    f32 sums over K and over S by 32-blocks: halves inside, blocks ascending, no product fused into a sum; S is a
    size of the configuration, invisible entries count as zeros. Exponentials are rounded once from double
    precision. How many heads a program takes depends on S and K; it knows one row. Products run on the ordinary
    arithmetic units, whose order is ours. Reads 4RSK bytes here, 528 or 288 an entry packed; and 8SK from the L2
    cache for each few heads.
    Source: written here.
    """
    (count, heads, width), entries = q.shape, rows.shape[1]
    assert width % 32 == 0 and width & (width - 1) == 0, f"a program holds heads of a power of two, not {width}"
    assert all(tensor.is_contiguous() for tensor in (out, q, rows[0], visible[0], sink))
    lanes = max(32, power_of_two(entries))
    together = min(power_of_two(heads), max(1, PRODUCTS // (32 * max(lanes, width))))
    assert lanes * 32 <= PRODUCTS, f"a program holds the scores of {PRODUCTS // 32} entries, not {entries}"
    _attend[(count, -(-heads // together))](
        out,
        q,
        rows,
        rows.stride(0),
        visible,
        visible.stride(0),
        sink,
        scale,
        H=heads,
        K=width,
        S=entries,
        HEADS=together,
        LANES=lanes,
        num_warps=8,
        **EXACT,
    )


@jit
def _attend(
    out,
    q,
    rows,
    row_stride,
    visible,
    visible_stride,
    sink,
    scale,
    H: tl.constexpr,
    K: tl.constexpr,
    S: tl.constexpr,
    HEADS: tl.constexpr,
    LANES: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    is_head = (head < H)[:, None]
    entry = tl.arange(0, LANES)
    queries = q + (row * H + head[:, None]) * K
    entries = rows + row * row_stride

    z = _scores(queries, entries, is_head, 0, K, S, HEADS, LANES)
    for block in range(1, K // 32):
        z += _scores(queries, entries, is_head, block, K, S, HEADS, LANES)
    seen = (tl.load(visible + row * visible_stride + entry, mask=entry < S, other=0) != 0)[None, :]
    z = z * scale
    m = tl.max(tl.where(seen, z, -1e30), 1)
    p = tl.where(seen, exp(z - m[:, None]), 0.0)  # [HEADS, LANES]
    norm = _total(p, S, HEADS, LANES) + exp(tl.load(sink + head, mask=head < H, other=0) - m)

    p = rounded(p, out)
    o = _values(p, entries, 0, K, S, HEADS)
    for block in range(1, (S + 31) // 32):
        o += _values(p, entries, block, K, S, HEADS)
    o = tl.div_rn(o, norm[:, None])
    place = (row * H + head[:, None]) * K + tl.arange(0, K)[None, :]
    tl.store(out + place, rounded(o, out).to(out.dtype.element_ty), mask=is_head)


@jit
def _scores(
    queries, entries, is_head, block, K: tl.constexpr, S: tl.constexpr, HEADS: tl.constexpr, LANES: tl.constexpr
):
    """Products of a 32-block of K summed by halves: [HEADS, LANES]."""
    channel = block * 32 + tl.arange(0, 32)[None, :]
    entry = tl.arange(0, LANES)[:, None]
    own = tl.load(queries + channel, mask=is_head, other=0).to(tl.float32)
    other = tl.load(entries + entry * K + channel, mask=entry < S, other=0)
    products = tl.reshape(own[:, None, :] * other[None, :, :], (HEADS * LANES, 32))
    return tl.reshape(halves(products, HEADS * LANES), (HEADS, LANES))


@jit
def _values(p, entries, block, K: tl.constexpr, S: tl.constexpr, HEADS: tl.constexpr):
    """p times the values of a 32-block of entries, summed by halves: [HEADS, K]."""
    entry = block * 32 + tl.arange(0, 32)[None, :]
    weight = tl.gather(p, entry + tl.zeros((HEADS, 32), tl.int32), 1)
    values = tl.load(entries + entry * K + tl.arange(0, K)[:, None], mask=entry < S, other=0)  # [K, 32]
    products = tl.reshape(weight[:, None, :] * values[None, :, :], (HEADS * K, 32))
    return tl.reshape(halves(products, HEADS * K), (HEADS, K))


@jit
def _total(p, S: tl.constexpr, HEADS: tl.constexpr, LANES: tl.constexpr):
    """Sum of p [HEADS, LANES] over entries, blocks ascending: [HEADS]."""
    sums = tl.reshape(halves(tl.reshape(p, (HEADS * LANES // 32, 32)), HEADS * LANES // 32), (HEADS, LANES // 32))
    acc = tl.gather(sums, tl.zeros((HEADS, 1), tl.int32), 1)
    for block in range(1, (S + 31) // 32):
        acc += tl.gather(sums, tl.full((HEADS, 1), block, tl.int32), 1)
    return tl.reshape(acc, (HEADS,))
