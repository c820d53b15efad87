"""Cases of add."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    normal = draw(8)
    yield Case("bf16", [((128,), torch.bfloat16)], [normal(8, 128), normal(8, 128)], [])
