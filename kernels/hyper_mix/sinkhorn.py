"""From mixes to coefficients: the part that every hyper_mix kernel shares."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels import elementary


class Mix(NamedTuple):
    """Weights and constants of a sublayer's mixes.

    fn [4D, 24] f32, scale [3] f32, base [24] f32; passes counts row and column divisions as one
    """

    fn: Tensor
    scale: Tensor
    base: Tensor
    passes: int
    eps: float
    norm_eps: float


def coefficients(pre: Tensor, post: Tensor, comb: Tensor, mixes: Tensor, mix: Mix) -> None:
    """mixes [R, 24] f32 -> pre [R, 4], post [R, 4], comb [R, 4, 4] f32, comb's first axis the source copy.

    Sums of four by halves: (0 + 2) + (1 + 3). Ends on a column division.
    """
    scale, base, eps = mix.scale, mix.base, mix.eps
    pre.copy_(elementary.sigmoid(mixes[:, 0:4] * scale[0] + base[0:4]) + eps)
    post.copy_(2.0 * elementary.sigmoid(mixes[:, 4:8] * scale[1] + base[4:8]))
    raw = (mixes[:, 8:24] * scale[2] + base[8:24]).unflatten(-1, (4, 4))
    c = elementary.exp(raw - raw.amax(-1, keepdim=True)).permute(1, 2, 0).contiguous()  # [source, target, R]
    row_sum, column_sum = _Sum(c, 1), _Sum(c, 0)
    floor = torch.full((), eps)
    c.div_(row_sum()).add_(floor)
    c.div_(column_sum().add_(floor))
    for _ in range(mix.passes - 1):
        c.div_(row_sum().add_(floor))
        c.div_(column_sum().add_(floor))
    comb.copy_(c.permute(2, 0, 1))


class _Sum:
    """The sum of c [4, 4, R] over a dimension, kept, each time it is called; c changes in place in between."""

    def __init__(self, c: Tensor, dim: int) -> None:
        self._halves = c.chunk(2, dim)
        self._two = torch.empty_like(self._halves[0])
        self._quarters = self._two.chunk(2, dim)
        self._one = torch.empty_like(self._quarters[0])

    def __call__(self) -> Tensor:
        torch.add(*self._halves, out=self._two)
        return torch.add(*self._quarters, out=self._one)
