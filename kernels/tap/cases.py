"""Cases of tap."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    yield Case("128", [((128,), torch.bfloat16)], [draw(12)(8, 4, 128).bfloat16()], [])
