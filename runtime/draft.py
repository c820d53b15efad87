"""DSpark: a block of drafts in three stages, chained by a Markov head.

The stages read what the backbone's last layers saw of every committed token (their context), and a block of the
newest token and placeholders; inside the block every row sees every row. The drafts are then chosen one after
another, each with a bonus that depends on the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from runtime import layer, rope
from runtime.attention import output, project, window_kv
from runtime.cache import Cache
from runtime.model import open_copies
from runtime.rope import Turn
from runtime.sites import At, Sites
from runtime.weights import Weights


@torch.inference_mode()
def write_context(weights: Weights, at: Sites, cache: Cache, positions: Tensor, taps: Tensor) -> None:
    """Put what each stage keeps of rows at `positions` [R] into its ring; taps [R, 3 D] as the backbone left them.

    Rows that are not kept need no undoing: a stage never reads a position that is not committed.
    """
    x = at.drafting.draft_main_norm(at.drafting.draft_main(taps))
    turn = rope.turn(weights.window_frequencies, positions)
    for ring in _rings(weights):
        cache.write_window(ring, positions, window_kv(at[ring], at[ring].kv(x), turn))


Choose = Callable[[Tensor, int], int]


@torch.inference_mode()
def draft_tokens(weights: Weights, at: Sites, cache: Cache, last: int, count: int, choose: Choose) -> tuple[int, ...]:
    """`count` drafts behind `last`, the newest token, which stands at `cache.next_position` and is not yet fed.

    `choose(logits, place)` picks draft `place`, counted from 0, of logits [V] f32. The block is the trained one unless
    more drafts are wanted than it holds; all of its rows see each other, so a longer one drafts otherwise from the
    first place on.
    """
    block = max(count, weights.config.dspark_block_size)
    return _chain(weights, at, block_logits(weights, at, cache, last, block)[:count], last, choose)


@torch.inference_mode()
def block_logits(weights: Weights, at: Sites, cache: Cache, last: int, block: int) -> Tensor:
    """What the stages say of each place of the block [block, V] f32, before the Markov head; a view."""
    config = weights.config
    positions = cache.next_position + torch.arange(block, device=weights.device)
    tokens = torch.full((block,), config.dspark_noise_token_id, device=weights.device)
    tokens[0] = last
    turn = rope.turn(weights.window_frequencies, positions)
    h, pre = open_copies(at, tokens)
    for ring in _rings(weights):
        h, pre, _ = layer.forward(at[ring], h, pre, partial(attention, at[ring], cache, turn))
    drafting = at.drafting
    base: Tensor = drafting.draft_head(drafting.draft_norm(drafting.draft_collapse(h, pre)))
    return base


def attention(at: At, cache: Cache, turn: Turn, x: Tensor) -> Tensor:
    """Block rows x [R, D] over the committed window and the whole block; the block's own KV is not stored."""
    into = project(at, x, turn)
    newest = torch.tensor([cache.next_position - 1], device=x.device)
    rows, visible = cache.read_window(at.layer, newest)  # [1, W, K]
    block = len(x)
    rows = torch.cat((rows, into.kv.float()[None]), 1).expand(block, -1, -1)
    seen = torch.cat((visible.expand(block, -1), block_visible(block)), 1)
    return output(at, into.q, rows, seen, turn)


def block_visible(rows: int) -> Tensor:
    """Which rows of the block each row sees [R, R] bool: all, also those behind it."""
    return torch.ones(rows, rows, dtype=torch.bool)


def _chain(weights: Weights, at: Sites, base: Tensor, last: int, choose: Choose) -> tuple[int, ...]:
    """Choose the drafts of base [R, V] f32 one after another."""
    assert weights.drafting is not None
    drafts: list[int] = []
    previous = last
    for place, row in enumerate(base):
        bonus = at.drafting.draft_markov(weights.drafting.markov_embed[previous][None])
        previous = choose(row + bonus[0], place)
        drafts.append(previous)
    return tuple(drafts)


def _rings(weights: Weights) -> range:
    """The draft stages' layer numbers, which are also their rings'."""
    first = len(weights.layers)
    return range(first, first + len(weights.stages))
