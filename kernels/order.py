"""The one order in which everything here is summed, and the one way ties are broken.

A sum over K runs in blocks of 32: inside a block by halves (element i with i + 16, then + 8, 4, 2, 1), then
over the blocks in ascending order, one add each. Every add is an elementwise operation of the library, exact
by IEEE 754 whatever the size of the tensor, so the bits of a sum depend on K alone: not on how many rows
run, on threads, or on the machine.

All scales of the formats used here are powers of two, so dequantised f32 operands give the same bits as codes
summed block by block and scaled afterwards (short of underflow).
"""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 32
# Products held at once; a larger product runs over N in pieces, which no sum can tell.
CHUNK_ELEMENTS = 1 << 22


def halve(v: Tensor, dim: int) -> Tensor:
    """Sum of the 32 entries of `dim` (negative), by halves; the dimension goes away."""
    for half in (16, 8, 4, 2, 1):
        v = v.narrow(dim, 0, half) + v.narrow(dim, half, half)
    return v.squeeze(dim)


def ascend(partial: Tensor, dim: int) -> Tensor:
    """Sum over the blocks of `dim`, ascending; the dimension goes away."""
    blocks = partial.unbind(dim)
    acc = blocks[0]
    for block in blocks[1:]:
        acc = acc + block
    return acc


def _whole_blocks(v: Tensor, dim: int) -> Tensor:
    """Zeros behind `dim` (negative) up to a multiple of 32; adding them changes no sum."""
    missing = -v.shape[dim] % BLOCK
    if not missing:
        return v
    shape = list(v.shape)
    shape[dim] = missing
    return torch.cat([v, v.new_zeros(shape)], dim)


def partials(x: Tensor, wt: Tensor) -> Tensor:
    """Products of each 32-block of K, summed inside the block: x [..., R, K], wt [..., K, N] f32 -> [..., K/32, R, N]."""
    x, wt = _whole_blocks(x, -1), _whole_blocks(wt, -2)
    blocks = x.shape[-1] // BLOCK
    left = x.transpose(-1, -2).unflatten(-2, (blocks, BLOCK))[..., None]  # [..., KB, 32, R, 1]
    right = wt.unflatten(-2, (blocks, BLOCK))[..., None, :]  # [..., KB, 32, 1, N]
    return halve(left * right, -3)


def dot(x: Tensor, wt: Tensor) -> Tensor:
    """x [..., R, K] times wt [..., K, N], both f32 -> [..., R, N] f32, in this module's order.

    Leading dimensions broadcast. Runs over N in pieces when the products would not fit the cache.
    """
    each = x.shape[-1] * x.shape[-2] * max(x[..., 0, 0].numel(), wt[..., 0, 0].numel(), 1)
    width = wt.shape[-1]
    piece = max(1, CHUNK_ELEMENTS // each)
    if piece >= width:
        return ascend(partials(x, wt), -3)
    return torch.cat([ascend(partials(x, part), -3) for part in wt.split(piece, -1)], -1)


def total(v: Tensor) -> Tensor:
    """Sum over the last dimension of v [..., K] f32 -> [...] f32, in this module's order."""
    v = _whole_blocks(v, -1)
    return ascend(halve(v.unflatten(-1, (-1, BLOCK)), -1), -1)


def total_by_block(v: Tensor) -> Tensor:
    """The same sum, one block after another: bit-equal to `total`."""
    v = _whole_blocks(v, -1)
    acc = None
    for block in v.split(BLOCK, -1):
        part = halve(block, -1)
        acc = part if acc is None else acc + part
    assert acc is not None
    return acc


def top_k(scores: Tensor, k: int) -> Tensor:
    """Indices [..., k] int64 of the k largest along the last dimension, largest first.

    Ties go to the lower index; -0 equals +0. (The library's own topk leaves ties open, and its choice moves
    with the length of the row.)
    """
    return torch.sort(scores, dim=-1, descending=True, stable=True).indices[..., :k]


def argmax(scores: Tensor) -> Tensor:
    """Index [...] int64 of the largest along the last dimension; ties go to the lowest index."""
    best = scores.amax(-1, keepdim=True)
    places = torch.arange(scores.shape[-1], device=scores.device)
    return torch.where(scores == best, places, scores.shape[-1]).amin(-1)
