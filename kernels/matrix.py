"""A weight as the linear kernels take it."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from kernels import codecs


class Matrix(NamedTuple):
    """A linear weight, dequantised and transposed.

    wt        [..., K, N] f32, the stored [N, K] values turned so that sums run over a leading dimension
    quantise  Q8 acts on the input first (the weight is FP8 or FP4 and the arithmetic asks for it)
    """

    wt: Tensor
    quantise: bool

    def input(self, x: Tensor) -> Tensor:
        """x [..., K] of any float dtype -> f32, quantise-dequantised if this weight wants it."""
        return codecs.q8(x.float()) if self.quantise else x.float()
