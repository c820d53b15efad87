"""Cases of hyper_expand."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    for dtype in (torch.bfloat16, torch.float32):
        normal = draw(2)
        inputs = [normal(8, 4, 128).to(dtype), normal(8, 128).to(dtype), normal(8, 4), normal(8, 4, 4)]
        yield Case(f"{dtype}", [((4, 128), dtype)], inputs, [])
