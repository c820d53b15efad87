"""Cases of router: a spread of biases, and rows in which all experts tie."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.router.reference import Gate


def cases() -> Iterator[Case]:
    for experts, width, top_k, spread in ((32, 128, 4, 0.2), (384, 64, 6, 0.0)):
        normal = draw(experts)
        x = normal(8, width).bfloat16()
        x[3] = 0
        wt = normal(width, experts, scale=width**-0.5)
        wt = wt.bfloat16().float() if experts == 384 else wt  # the released gate is bf16
        gate = Gate(wt, normal(experts, scale=spread), top_k, 1.5)
        yield Case(f"{experts}-{top_k}", [((top_k,), torch.int64), ((top_k,), torch.float32)], [x], [gate])
