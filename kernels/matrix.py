"""A weight as the linear kernels take it: as the checkpoint stores it, and widened for those that want it so."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels import codecs

TILE = 32


class Stored(NamedTuple):
    """A weight's own bytes: what a kernel on a GPU reads.

    codes   [..., N, K] f32, bf16 or E4M3; or [..., N, K / 2] int8, pairs of E2M1, the even index in the low nibble
    scales  UE8M0 bytes, uint8: of E4M3 one for each 32x32 tile [..., N / 32, K / 32], tiles at the edge may be short;
            of E2M1 one for each 32 of a row [..., N, K / 32]; None otherwise
    """

    codes: Tensor
    scales: Tensor | None = None

    def values(self) -> Tensor:
        """Widened to f32 [..., N, K]; scales are powers of two, so no bit is lost."""
        if self.codes.dtype == torch.float8_e4m3fn:
            assert self.scales is not None
            return fp8_values(self.codes, self.scales)
        if self.codes.dtype == torch.int8:
            assert self.scales is not None
            return fp4_values(self.codes, self.scales)
        return self.codes.float()


class Matrix:
    """A linear weight, from its values or from what is stored.

    wt        [..., K, N] f32, widened and turned so that sums run over a leading dimension; made when first asked for
    stored    the bytes that a kernel may read instead; the f32 values themselves where nothing else was given
    columns   N
    quantise  Q8 acts on the input first (the weight is FP8 or FP4 and the arithmetic asks for it)

    A kernel whose `prepare` takes `stored` never has the weight widened.
    """

    def __init__(self, wt: Tensor | None, quantise: bool, stored: Stored | None = None) -> None:
        assert wt is not None or stored is not None
        self._wt = wt
        self._stored = stored
        self.quantise = quantise

    @property
    def wt(self) -> Tensor:
        if self._wt is None:
            self._wt = self.stored.values().mT.contiguous()
        return self._wt

    @property
    def stored(self) -> Stored:
        return self._stored if self._stored else Stored(self.wt.mT.contiguous())

    @property
    def columns(self) -> int:
        return self._stored.codes.shape[-2] if self._stored else self.wt.shape[-1]

    def input(self, x: Tensor) -> Tensor:
        """x [..., K] of any float dtype -> f32, quantise-dequantised if this weight wants it."""
        return codecs.q8(x.float()) if self.quantise else x.float()


def fp8_values(codes: Tensor, scales: Tensor) -> Tensor:
    """E4M3 [..., N, K] times the UE8M0 scale of each 32x32 tile -> f32 [..., N, K]; tiles at the edge may be short."""
    n, k = codes.shape[-2:]
    rows = codecs.ue8m0_decode(scales).repeat_interleave(TILE, -2)[..., :n, :]
    return codes.float() * rows.repeat_interleave(TILE, -1)[..., :k]


def fp4_values(codes: Tensor, scales: Tensor) -> Tensor:
    """Packed E2M1 [..., N, K / 2] times the UE8M0 scale of each row's 32 -> f32 [..., N, K]."""
    values = codecs.e2m1_decode(codecs.e2m1_unpack(codes))
    return (values.view(*scales.shape, TILE) * codecs.ue8m0_decode(scales)[..., None]).flatten(-2)
