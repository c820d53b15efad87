"""Cases of attn_in: a window layer's two projections, and a KV source's five."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    for name, widths in (
        ("window", [(64, True), (64, True)]),
        ("source", [(64, True), (64, True), (64, False), (4, False)]),
    ):
        normal = draw(len(widths))
        matrices = [Matrix(normal(128, n, scale=128**-0.5), quantise) for n, quantise in widths]
        outputs = [((n,), torch.bfloat16 if quantise else torch.float32) for n, quantise in widths]
        yield Case(name, outputs, [normal(8, 128).bfloat16()], matrices)
