"""Expand: a sublayer's output back into the four residual copies."""

from __future__ import annotations

from torch import Tensor

CLAIM = "bits"


def run(out: Tensor, h: Tensor, y: Tensor, post: Tensor, comb: Tensor) -> None:
    """out_k = post_k y + sum over sources j of comb[j, k] h_j.

    h [R, 4, D], y [R, D] bf16 or f32; post [R, 4], comb [R, 4, 4] f32 (source first); out [R, 4, D], not h

    f32, sources ascending, then post_k y added to their sum. Reads and writes 18RD bytes in bf16.
    Source: written here.
    """
    wide = h.float()[:, :, None, :]  # [R, source, 1, D]
    mixed = wide * comb[..., None]  # [R, source, target, D]
    mixed = mixed[:, 0] + mixed[:, 1] + mixed[:, 2] + mixed[:, 3]
    out.copy_(post[..., None] * y.float()[:, None, :] + mixed)
