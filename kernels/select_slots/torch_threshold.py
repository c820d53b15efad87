"""Two-level top-k by threshold: what lies above the k-th value, and as many of its equals as fit, lowest first."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.select_slots.reference import NONE, Rule

CLAIM = "bits"


def run(
    selected: Tensor,
    candidates: Tensor,
    scores: Tensor,
    visible: Tensor,
    allowed: Tensor,
    rule: Rule,
) -> None:
    """As `select_slots/reference`, without a sort: masks, and counts that give each kept slot its place.

    selected    [R, top_k] int64, ascending, -1 behind the last
    candidates  [R, T] bool, true in the row's best blocks; `allowed` itself unless `rule.blocks`
    scores      [R, T] f32 or bf16, -inf where not visible
    visible     [R] int64; the block with slot visible - 1 is always among the best
    allowed     [R, T] bool; slots outside score -inf

    The library's top-k gives the k-th value, which ties cannot move; which of the equals are kept is decided by
    their running count. No float sums. Reads and writes 4RT bytes with bf16 scores, and 8R top_k of the slots.
    Source: written here.
    """
    candidates.copy_(best_blocks(scores, visible, rule) if rule.blocks else allowed)
    kept = best(torch.where(allowed, scores, float("-inf")), rule.top_k)
    places = torch.where(kept, kept.cumsum(1) - 1, rule.top_k)
    row = torch.full((len(kept), rule.top_k + 1), NONE, device=scores.device)  # the last place takes what is not kept
    slots = torch.arange(kept.shape[1], device=scores.device).expand_as(places)
    selected.copy_(row.scatter_(1, places, slots)[:, :-1])


def best(scores: Tensor, k: int) -> Tensor:
    """Where [R, T] bool the k best scores of each row lie; lower places first among equals, none at -inf."""
    least = torch.topk(scores, min(k, scores.shape[1]), sorted=False).values.amin(1, keepdim=True)
    above, equal = scores > least, scores == least
    room = k - above.sum(1, keepdim=True)
    return (above | equal & (equal.cumsum(1) <= room)) & (scores > float("-inf"))


def best_blocks(scores: Tensor, visible: Tensor, rule: Rule) -> Tensor:
    """Slots [R, T] bool inside the `rule.blocks` best blocks of `rule.block_size`, the newest slot's among them."""
    slots = torch.arange(scores.shape[1], device=scores.device)
    block_of = slots.div(rule.block_size, rounding_mode="floor")
    count = int(-(-len(slots) // rule.block_size))
    empty = torch.full((len(scores), count), float("-inf"), dtype=scores.dtype, device=scores.device)
    block = empty.scatter_reduce(1, block_of.expand_as(scores), scores, "amax")
    newest = (visible - 1).div(rule.block_size, rounding_mode="floor")[:, None]
    block.masked_fill_(torch.arange(count, device=scores.device) == newest, float("inf"))
    return best(block, rule.blocks)[:, block_of]
