"""The shared expert with gate and up as one product over their weights side by side."""

from __future__ import annotations

from torch import Tensor

from kernels import elementary, order
from kernels.experts.torch_gate_up_merged import Merged
from kernels.experts.torch_gate_up_merged import prepare as prepare  # the same weights side by side

CLAIM = "bits"


def run(out: Tensor, x: Tensor, expert: Merged) -> None:
    """As `swiglu/reference`, with one dot over the columns of w1 and w3 together.

    x [R, D] bf16 or f32, expert.w13 wt [D, 2 I], w2 wt [I, D] f32, out [R, D] f32

    A column's sum does not know its neighbours: f32 over D and I by 32-blocks, halves inside, blocks ascending.
    Reads what the reference reads, in two pieces instead of three: 12DI bytes of weights.
    Source: written here.
    """
    dtype, limit = x.dtype, expert.limit
    gate, up = order.dot(expert.w13.input(x), expert.w13.wt).to(dtype).float().chunk(2, -1)
    t = (elementary.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)).to(dtype)
    out.copy_(order.dot(expert.w2.input(t), expert.w2.wt).to(dtype))
