"""Rotary position embedding: how far each pair of channels turns at a position.

Source: written here, after the YaRN paper and the architecture's constants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from runtime.config import ModelConfig, Yarn


class Turn(NamedTuple):
    """cos, sin [R, P] f32, the angle of each of P rotating pairs at a row's position."""

    cos: Tensor
    sin: Tensor

    @property
    def back(self) -> Turn:
        """The rotation that undoes this one."""
        return Turn(self.cos, -self.sin)


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


def turn(frequency: Tensor, positions: Tensor) -> Turn:
    """The rotation of `positions` [R] int64; the angle is one f32 product."""
    angle = positions.float()[:, None] * frequency
    return Turn(angle.cos(), angle.sin())


def window_frequencies(config: ModelConfig) -> Tensor:
    """Of window layers and draft stages [P] f32."""
    return frequencies(config.rope_theta, config.qk_rope_head_dim // 2)


def compressed_frequencies(config: ModelConfig) -> Tensor:
    """Of layers that read a compressed store [P] f32: queries, window KV, latents, index vectors and output."""
    return frequencies(config.compress_rope_theta, config.qk_rope_head_dim // 2, config.yarn)
