"""Cases of hyper_collapse."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    for dtype in (torch.bfloat16, torch.float32):
        normal = draw(1)
        yield Case(f"{dtype}", [((128,), dtype)], [normal(8, 4, 128).to(dtype), normal(8, 4)], [])
