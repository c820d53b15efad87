"""Cases of engram_gate: a zero row among ordinary ones."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    normal = draw(11)
    h = normal(8, 4, 128).bfloat16()
    h[3] = 0
    yield Case("128", [((4, 128), torch.bfloat16)], [h, normal(8, 640).bfloat16()], [1 + normal(4, 128), 1e-20])
