"""Two-level top-k: the best blocks of slots where asked for, then the best slots, in ascending order."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels import order

CLAIM = "bits"
NONE = -1


class Rule(NamedTuple):
    """How many slots a row keeps; `blocks` of `block_size` slots bound later layers (0: this layer does not)."""

    top_k: int
    blocks: int
    block_size: int


def run(
    selected: Tensor,
    candidates: Tensor,
    scores: Tensor,
    visible: Tensor,
    allowed: Tensor,
    rule: Rule,
) -> None:
    """The `rule.top_k` best slots of each row, and the slots inside its best blocks.

    selected    [R, top_k] int64, ascending, -1 behind the last
    candidates  [R, T] bool, true in the row's best blocks; `allowed` itself unless `rule.blocks`
    scores      [R, T] f32 or bf16, -inf where not visible
    visible     [R] int64; the block with slot visible - 1 is always among the best
    allowed     [R, T] bool; slots outside score -inf

    Ties: higher score, then lower slot or block. No sums.
    Reads and writes 4RT bytes with bf16 scores, and 8R top_k of the slots.
    Source: written here.
    """
    candidates.copy_(best_blocks(scores, visible, rule) if rule.blocks else allowed)
    scores = torch.where(allowed, scores, float("-inf"))
    slots = scores.shape[1]
    best = order.top_k(scores, rule.top_k)
    kept = torch.where(scores.gather(1, best) > float("-inf"), best, slots).sort(dim=1).values
    selected.fill_(NONE)
    selected[:, : kept.shape[1]] = torch.where(kept < slots, kept, NONE)


def best_blocks(scores: Tensor, visible: Tensor, rule: Rule) -> Tensor:
    """Slots [R, T] bool inside the `rule.blocks` best blocks of `rule.block_size`."""
    slots = scores.shape[1]
    short = -slots % rule.block_size
    padded = torch.nn.functional.pad(scores.float(), (0, short), value=float("-inf"))
    block = padded.unflatten(1, (-1, rule.block_size)).amax(-1)  # [R, blocks]
    newest = (visible - 1).div(rule.block_size, rounding_mode="floor")[:, None]
    places = torch.arange(block.shape[1], device=scores.device)
    block = torch.where(places == newest, float("inf"), block)
    best = order.top_k(block, rule.blocks)
    chosen = torch.zeros_like(block, dtype=torch.bool).scatter_(1, best, block.gather(1, best) > float("-inf"))
    return chosen.repeat_interleave(rule.block_size, 1)[:, :slots]
