"""Rotary embedding as one multiply-add: the channels times cosines, plus their swapped neighbours times sines."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.rotate.reference import CODECS

CLAIM = "bits"


def run(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, codec: str) -> None:
    """As `rotate/reference`, in place in the output: nothing is split into halves, stacked or joined.

    x         [R, ..., K] bf16 or f32
    cos, sin  [R, P] f32
    out       [R, ..., K] bf16 or f32
    codec     'none', 'q8', 'q4i' or 'q4kv', on the whole vector after rotation

    A pair (a, b) becomes (a c + b (-s), b c + a s): a - b and a + (-b) are the same number. f32 arithmetic,
    rounded to the output's dtype before the codec; no reduction but the codecs' block maxima.
    Reads and writes 4RK bytes in bf16, and 8RP of the angles.
    Source: written here.
    """
    tail = 2 * cos.shape[-1]
    between = (1,) * (x.dim() - 2)
    cosines = cos.repeat_interleave(2, -1).view(len(cos), *between, tail)
    sines = torch.stack((-sin, sin), -1).view(len(sin), *between, tail)
    turning = x[..., -tail:].float()
    swapped = turning.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    out.copy_(x)
    torch.add(turning * cosines, swapped * sines, out=out[..., -tail:])
    if codec != "none":
        out.copy_(CODECS[codec](out))
