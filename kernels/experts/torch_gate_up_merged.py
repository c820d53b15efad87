"""Routed experts with gate and up as one product over their weights side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels import order
from kernels.experts.reference import Experts, chosen, finish
from kernels.matrix import Matrix

CLAIM = "bits"


class Merged(NamedTuple):
    """Weights of all experts: w13 wt [E, D, 2 I], w2 wt [E, I, D] f32."""

    w13: Matrix
    w2: Matrix
    limit: float


def prepare(weights: Sequence[Experts]) -> tuple[Merged, ...]:
    """w1 and w3 side by side, once."""
    return tuple(
        Merged(Matrix(torch.cat((own.w1.wt, own.w3.wt), -1), own.w1.quantise), own.w2, own.limit) for own in weights
    )


def run(out: Tensor, x: Tensor, ids: Tensor, weights: Tensor, experts: Merged) -> None:
    """As `experts/reference`, with one dot over the columns of w1 and w3 together.

    x [R, D] bf16 or f32, ids [R, k] int64 ascending, weights [R, k] f32, out [R, D] f32

    A column's sum does not know its neighbours: f32 over D and I by 32-blocks, halves inside, blocks ascending.
    Reads what the reference reads, in two pieces an expert instead of three.
    Source: written here.
    """
    pairs = experts.w13.input(x)[:, None, None, :].expand(-1, ids.shape[1], 1, -1)  # [R, k, 1, D]
    gate, up = order.dot(pairs, chosen(experts.w13, ids)).chunk(2, -1)
    finish(out, gate, up, x.dtype, ids, weights, experts.w2, experts.limit)
