"""Rotary embedding of the last channels, then the quantise-dequantise step of the cache it goes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from kernels import codecs

CLAIM = "bits"

CODECS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "q8": codecs.q8,  # window KV
    "q4i": codecs.q4i,  # index keys and queries
    "q4kv": codecs.q4kv,  # latents
}


def run(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, codec: str) -> None:
    """Adjacent pairs of the last 2P channels as complex numbers, times cos + i sin.

    x         [R, ..., K] bf16 or f32
    cos, sin  [R, P] f32; give -sin for the inverse
    out       [R, ..., K] bf16 or f32
    codec     'none', 'q8', 'q4i' or 'q4kv', on the whole vector after rotation

    f32 arithmetic, rounded to the output's dtype before the codec; no reduction but the codecs' block maxima.
    Reads and writes 4RK bytes in bf16, and 8RP of the angles.
    Source: written here.
    """
    plain, turning = x[..., : -2 * cos.shape[-1]], x[..., -2 * cos.shape[-1] :].float()
    a, b = turning[..., 0::2], turning[..., 1::2]
    between = (1,) * (x.dim() - 2)
    c, s = cos.view(len(cos), *between, -1), sin.view(len(sin), *between, -1)
    turned = torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).to(out.dtype)
    out.copy_(CODECS[codec](torch.cat((plain.to(out.dtype), turned), -1)))
