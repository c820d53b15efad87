"""Cases of head."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    normal = draw(13)
    wt = normal(128, 512, scale=128**-0.5).bfloat16().float()
    yield Case("128x512", [((512,), torch.float32)], [normal(8, 128).bfloat16()], [Matrix(wt, False)])
