"""Cases of grouped_linear."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    for groups, k, n in ((2, 128, 32), (8, 64, 96)):
        normal = draw(groups + k)
        wt = normal(groups, k, n, scale=k**-0.5)
        yield Case(
            f"{groups}x{k}x{n}",
            [((groups * n,), torch.bfloat16)],
            [normal(8, groups * k).bfloat16()],
            [Matrix(wt, False)],
        )
