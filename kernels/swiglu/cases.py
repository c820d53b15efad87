"""Cases of swiglu."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.experts.reference import Experts
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    for gain in (1.0, 20.0):
        normal = draw(int(gain) + 40)
        w1, w3 = (Matrix(normal(128, 64, scale=gain * 128**-0.5), True) for _ in range(2))
        expert = Experts(w1, w3, Matrix(normal(64, 128, scale=0.125), True), 10.0)
        yield Case(f"gain-{gain}", [((128,), torch.float32)], [normal(8, 128).bfloat16()], [expert])
