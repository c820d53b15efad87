"""Rotary tables: the cosine and sine of every position a sequence may hold, made once.

Source: written here, after the YaRN paper and the architecture's constants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from runtime.config import ModelConfig, Yarn


class Table(NamedTuple):
    """cos, sin [positions, P] f32; P rotating pairs."""

    cos: Tensor
    sin: Tensor


def frequencies(theta: float, pairs: int, yarn: Yarn | None = None) -> Tensor:
    """Radians a position of each pair [P] f32; YaRN slows the low ones down by its factor."""
    width = 2 * pairs
    plain = 1.0 / theta ** (torch.arange(pairs, dtype=torch.float32) * 2 / width)
    if yarn is None:
        return plain

    def corrected(beta: float) -> float:
        return width * math.log(yarn.original_positions / (beta * 2 * math.pi)) / (2 * math.log(theta))

    low = float(max(math.floor(corrected(yarn.beta_fast)), 0))
    high = float(min(math.ceil(corrected(yarn.beta_slow)), width - 1))
    high += 0.001 if low == high else 0.0
    ramp = ((torch.arange(pairs, dtype=torch.float32) - low) / (high - low)).clamp(0, 1)
    return plain / yarn.factor * ramp + plain * (1 - ramp)


def table(frequency: Tensor, positions: int) -> Table:
    """Tables of positions 0 .. positions - 1; the angle is one f32 product."""
    angle = torch.arange(positions, dtype=torch.float32)[:, None] * frequency
    return Table(angle.cos(), angle.sin())


def window_table(config: ModelConfig, positions: int) -> Table:
    """For window layers and draft stages."""
    return table(frequencies(config.rope_theta, config.qk_rope_head_dim // 2), positions)


def compressed_table(config: ModelConfig, positions: int) -> Table:
    """For layers that read a compressed store: their queries, window KV, latents, index vectors and output."""
    return table(frequencies(config.compress_rope_theta, config.qk_rope_head_dim // 2, config.yarn), positions)
