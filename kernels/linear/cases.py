"""Cases of linear: with and without Q8, K of one block and of many, f32 and bf16 out."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    for k, n, quantise, dtype in (
        (32, 64, True, torch.bfloat16),
        (128, 256, True, torch.bfloat16),
        (192, 640, True, torch.bfloat16),
        (128, 24, False, torch.float32),
    ):
        normal = draw(k + n)
        x = normal(8, k).bfloat16()
        x[3] = 0
        yield Case(f"{k}x{n}-{dtype}", [((n,), dtype)], [x], [Matrix(normal(k, n, scale=k**-0.5), quantise)])
