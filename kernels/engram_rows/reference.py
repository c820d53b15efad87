"""Engram gather: FP8 rows of a large table, widened with their scales."""

from __future__ import annotations

from torch import Tensor

from kernels import codecs

CLAIM = "bits"


def run(out: Tensor, ids: Tensor, codes: Tensor, scales: Tensor) -> None:
    """Rows of the table, side by side.

    ids     [R, C] int64
    codes   [rows, K] uint8, E4M3
    scales  [rows, K / 32] uint8, UE8M0
    out     [R, C * K] bf16 or f32

    No sums. Reads C (K + K / 32) bytes a row. Source: written here.
    """
    values = codecs.e4m3_decode(codes[ids]).unflatten(-1, (-1, 32))  # [R, C, K/32, 32]
    out.copy_((values * codecs.ue8m0_decode(scales[ids])[..., None]).flatten(1))
