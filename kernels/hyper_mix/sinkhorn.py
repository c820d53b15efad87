"""From mixes to coefficients: the part that every hyper_mix kernel shares."""

from __future__ import annotations

from typing import NamedTuple

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
    c = c / _row_sum(c) + eps
    c = c / (_column_sum(c) + eps)
    for _ in range(mix.passes - 1):
        c = c / (_row_sum(c) + eps)
        c = c / (_column_sum(c) + eps)
    comb.copy_(c.permute(2, 0, 1))


def _row_sum(c: Tensor) -> Tensor:
    halves = c[:, 0:2] + c[:, 2:4]
    return halves[:, 0:1] + halves[:, 1:2]


def _column_sum(c: Tensor) -> Tensor:
    halves = c[0:2] + c[2:4]
    return halves[0:1] + halves[1:2]
