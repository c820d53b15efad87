"""Cases of rmsnorm: widths of the models, tiny and huge rows, a zero row."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw

EPS = 1e-20


def cases() -> Iterator[Case]:
    for width, dtype in (
        (32, torch.bfloat16),
        (128, torch.bfloat16),
        (192, torch.float32),
        (5120, torch.bfloat16),
    ):
        normal = draw(width)
        x = normal(8, width).to(dtype)
        x[1] *= 1e-12
        x[2] *= 1e4
        x[3] = 0
        yield Case(f"{width}-{dtype}", [((width,), dtype)], [x], [1 + normal(width, scale=0.1), EPS])
