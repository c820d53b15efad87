"""Routed experts with gate and up as one product over their weights side by side."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import order
from kernels.experts.reference import Experts, finish

CLAIM = "bits"


def run(out: Tensor, x: Tensor, ids: Tensor, weights: Tensor, experts: Experts) -> None:
    """As `experts/reference`, with one dot over the columns of w1 and w3 together.

    x [R, D] bf16 or f32, ids [R, k] int64 ascending, weights [R, k] f32, out [R, D] f32

    A column's sum does not know its neighbours: the reduction order is the reference's.
    Source: written here.
    """
    pairs = experts.w1.input(x)[:, None, None, :].expand(-1, ids.shape[1], 1, -1)  # [R, k, 1, D]
    both = torch.cat((experts.w1.wt[ids], experts.w3.wt[ids]), -1)  # [R, k, D, 2I]
    gate, up = order.dot(pairs, both).chunk(2, -1)
    finish(out, gate, up, x.dtype, ids, weights, experts)
