"""The one order in which everything here is summed, and the one way ties are broken.

A sum over K runs in blocks of 32: inside a block by halves (element i with i + 16, then + 8, 4, 2, 1), then
over the blocks in ascending order, one add each. Every add is an elementwise operation of the library, exact
by IEEE 754 whatever the size of the tensor, so the bits of a sum depend on K alone: not on how many rows
run, on threads, or on the machine.

All scales of the formats used here are powers of two, so dequantised f32 operands give the same bits as codes
summed block by block and scaled afterwards (short of underflow).
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

BLOCK = 32
# Products held at once; a larger product runs over N in pieces, which no sum can tell.
PIECE_ELEMENTS = 1 << 22


class _Tree:
    """Scratch for products of one shape [..., 32, M, N], and the views that halve them in place.

    All shapes share one scratch of PIECE_ELEMENTS, so a tree's result must be read before the next is filled;
    nothing in this module hands it out. One thread at a time.
    """

    def __init__(self, shape: torch.Size, device: torch.device) -> None:
        self.products = _scratch(device, shape.numel())[: shape.numel()].view(shape)
        self._halves = []
        v = self.products
        for _ in range(5):
            v, other = v.chunk(2, -3)
            self._halves.append((v, other))
        self._blocks = v.squeeze(-3).unbind(-3)

    def halve(self) -> tuple[Tensor, ...]:
        """Each block's sum, in the scratch."""
        for v, other in self._halves:
            v.add_(other)
        return self._blocks

    def ascend(self) -> Tensor:
        """Sum of the products: halves inside a block, then the blocks of the dimension before, ascending."""
        first, *rest = self.halve()
        acc = first.clone()
        for block in rest:
            acc.add_(block)
        return acc


@lru_cache(maxsize=16)
def _scratch(device: torch.device, elements: int) -> Tensor:
    return torch.empty(max(elements, PIECE_ELEMENTS), device=device)


@lru_cache(maxsize=1024)
def _tree(left: torch.Size, right: torch.Size, device: torch.device) -> _Tree:
    with torch.inference_mode(False):
        return _Tree(torch.broadcast_shapes(left, right), device)


def _whole_blocks(v: Tensor, dim: int) -> Tensor:
    """Zeros behind `dim` (negative) up to a multiple of 32; adding them changes no sum."""
    missing = -v.shape[dim] % BLOCK
    if not missing:
        return v
    shape = list(v.shape)
    shape[dim] = missing
    return torch.cat([v, v.new_zeros(shape)], dim)


def _operands(x: Tensor, wt: Tensor) -> tuple[Tensor, Tensor]:
    """x [..., R, K] as [..., KB, 32, R, 1] and wt [..., K, N] as [..., KB, 32, 1, N], to be multiplied."""
    x, wt = _whole_blocks(x, -1), _whole_blocks(wt, -2)
    blocks = x.shape[-1] // BLOCK
    left = x.mT.unflatten(-2, (blocks, BLOCK)).unsqueeze(-1)
    return left, wt.unflatten(-2, (blocks, BLOCK)).unsqueeze(-2)


@lru_cache(maxsize=1024)
def _piece(left: torch.Size, right: torch.Size) -> int:
    """How many columns of N fit the scratch."""
    return max(1, PIECE_ELEMENTS // torch.broadcast_shapes(left, (*right[:-1], 1)).numel())


def _product_sum(left: Tensor, right: Tensor) -> Tensor:
    """Products of two operands that broadcast to [..., KB, 32, R, N], summed -> [..., R, N]."""
    tree = _tree(left.shape, right.shape, left.device)
    torch.mul(left, right, out=tree.products)
    return tree.ascend()


def dot(x: Tensor, wt: Tensor) -> Tensor:
    """x [..., R, K] times wt [..., K, N], both f32 -> [..., R, N] f32, in this module's order.

    Leading dimensions broadcast. Runs over N in pieces when the products would not fit the scratch.
    """
    left, right = _operands(x, wt)
    piece = _piece(left.shape, right.shape)
    if piece >= right.shape[-1]:
        return _product_sum(left, right)
    return torch.cat([_product_sum(left, part) for part in right.split(piece, -1)], -1)


def dot_by_block(x: Tensor, wt: Tensor) -> Tensor:
    """The same product of x [R, K] and wt [K, N], one block of K after another: bit-equal to `dot`."""
    left, right = _operands(x, wt)
    tree = _tree(left[:1].shape, right[:1].shape, x.device)
    acc = x.new_zeros(x.shape[0], wt.shape[1])
    for xs, ws in zip(left.split(1), right.split(1), strict=True):
        torch.mul(xs, ws, out=tree.products)
        acc.add_(tree.halve()[0])
    return acc


def _sum_operand(v: Tensor) -> Tensor:
    """v [..., K] as [KB, 32, 1, rows]."""
    whole = _whole_blocks(v, -1)
    return whole.reshape(-1, whole.shape[-1]).mT.unflatten(0, (-1, BLOCK)).unsqueeze(2)


def total(v: Tensor) -> Tensor:
    """Sum over the last dimension of v [..., K] f32 -> [...] f32, in this module's order."""
    operand = _sum_operand(v)
    tree = _tree(operand.shape, operand.shape, v.device)
    tree.products.copy_(operand)
    return tree.ascend().view(v.shape[:-1])


def total_by_block(v: Tensor) -> Tensor:
    """The same sum, one block of K after another: bit-equal to `total`."""
    operand = _sum_operand(v)
    tree = _tree(operand[:1].shape, operand[:1].shape, v.device)
    acc = v.new_zeros(1, operand.shape[-1])
    for block in operand.split(1):
        tree.products.copy_(block)
        acc.add_(tree.halve()[0])
    return acc.view(v.shape[:-1])


def total_leading(v: Tensor) -> Tensor:
    """Sum over the first dimension of v [K, ...] f32, K a multiple of 32, in this module's order; v is used up."""
    blocks = v.unflatten(0, (-1, BLOCK))
    for half in (16, 8, 4, 2, 1):
        blocks = blocks[:, :half].add_(blocks[:, half:])
    first, *rest = blocks.squeeze(1)
    acc = first.clone()
    for block in rest:
        acc.add_(block)
    return acc


def top_k(scores: Tensor, k: int) -> Tensor:
    """Indices [..., k] int64 of the k largest along the last dimension, largest first.

    Ties go to the lower index; -0 equals +0. (The library's own topk leaves ties open, and its choice moves
    with the length of the row.)
    """
    return torch.sort(scores, dim=-1, descending=True, stable=True).indices[..., :k]
