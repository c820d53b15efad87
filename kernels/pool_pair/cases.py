"""Cases of pool_pair: ordinary and far apart gates."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    for gain in (1.0, 50.0):
        normal = draw(3)
        yield Case(f"gain-{gain}", [((64,), torch.bfloat16)], [normal(8, 2, 64), normal(8, 2, 64, scale=gain)], [])
