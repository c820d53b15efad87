"""The backbone: a step's rows from token ids to logits."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from runtime import layer
from runtime.attention import MODES, Step
from runtime.cache import Cache
from runtime.sites import At, Sites
from runtime.weights import Weights

__all__ = ["Pass", "Weights", "forward", "open_copies"]


class Pass(NamedTuple):
    """What a pass through the backbone leaves, in buffers that the next pass overwrites.

    logits   [R, V] f32
    taps     [R, 3 D] bf16 or f32, what the draft's context is made of
    experts  how many different experts each layer used
    """

    logits: Tensor
    taps: Tensor
    experts: list[int]


@torch.inference_mode()
def forward(weights: Weights, at: Sites, cache: Cache, tokens: Tensor, positions: Tensor) -> Pass:
    """Feed `tokens` [R] int64 at `positions` [R] int64, as `cache.begin` gave them; commits nothing.

    Row r sees the rows before it in this step and everything committed: R rows of one pass equal R passes of
    one row, bit for bit.
    """
    config = weights.config
    cache.write_history(positions, weights.token_map[tokens])
    step = Step.begin(weights, cache, positions)
    h, pre = open_copies(at, tokens)
    taps, used = [], []
    for index in range(config.num_hidden_layers):
        own = at[index]
        if index in config.engram_layer_ids:
            h = _engram(own, weights, step, h)
        if index in config.dspark_target_layer_ids:
            taps.append(own.tap(h))
        h, pre, experts = layer.forward(own, h, pre, partial(MODES[config.mode(index)], own, step))
        used.append(experts)
    logits = at.end.head(at.end.head_norm(at.end.head_collapse(h, pre)))
    return Pass(logits, torch.cat(taps, 1), [len(set(experts.flatten().tolist())) for experts in used])


def open_copies(at: Sites, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The residual copies [R, 4, D] of `tokens` [R], and coefficients [R, 4] f32 that read the first."""
    h = at.start.embed(tokens)
    pre = torch.zeros(len(tokens), h.shape[1], device=h.device)
    pre[:, 0] = 1.0
    return h, pre


def _engram(at: At, weights: Weights, step: Step, h: Tensor) -> Tensor:
    """Add what the Engram table holds for the rows' last tokens."""
    engram = weights.layer(at.layer).engram
    assert engram is not None
    ids = engram.hash.rows(step.cache.history, step.positions)
    out: Tensor = at.engram_gate(h, at.engram_kv(at.engram_rows(ids)))
    return out
