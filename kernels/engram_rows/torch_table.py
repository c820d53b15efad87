"""Engram gather with every product of a code and a scale looked up instead of computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from kernels import codecs

CLAIM = "bits"


def prepare(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """The codes and scales as they are, and the table of their products."""
    codes, scales = weights
    return codes, scales, products(codes.device)


@lru_cache
def products(device: torch.device) -> Tensor:
    """Values [256 * 256] f32 of every UE8M0 scale (slow) and E4M3 code (fast): 256 KiB, one a device."""
    every = torch.arange(256, dtype=torch.int32, device=device).to(torch.uint8)
    return (codecs.ue8m0_decode(every)[:, None] * codecs.e4m3_decode(every)).flatten()


def run(out: Tensor, ids: Tensor, codes: Tensor, scales: Tensor, table: Tensor) -> None:
    """As `engram_rows/reference`, in integers: a code and its scale are the two bytes of a table index.

    ids     [R, C] int64
    codes   [rows, K] uint8, E4M3
    scales  [rows, K / 32] uint8, UE8M0
    table   [65536] f32
    out     [R, C * K] bf16 or f32

    No sums, no arithmetic on values. Reads C (K + K / 32) bytes a row, and 4 of a cached table for each code.
    Source: written here.
    """
    low = codes[ids].to(torch.int32).unflatten(-1, (-1, 32))  # [R, C, K/32, 32]
    high = scales[ids].to(torch.int32)[..., None] << 8
    out.copy_(table[low + high].flatten(1))
