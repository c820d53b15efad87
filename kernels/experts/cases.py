"""Cases of experts: with and without Q8, values beyond the clamps, both dtypes."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.experts.reference import Experts
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    count, width, inner = 8, 128, 64
    ids = torch.stack([torch.randperm(count, generator=torch.Generator().manual_seed(r))[:3] for r in range(8)])
    for quantise, gain, dtype in (
        (True, 1.0, torch.bfloat16),
        (True, 20.0, torch.bfloat16),
        (False, 1.0, torch.float32),
    ):
        normal = draw(int(gain))
        w1, w3, w2 = (
            Matrix(normal(count, k, n, scale=gain * k**-0.5), quantise)
            for k, n in ((width, inner), (width, inner), (inner, width))
        )
        inputs = [normal(8, width).to(dtype), ids.sort(1).values, normal(8, 3).abs()]
        yield Case(f"{quantise}-{gain}-{dtype}", [((width,), torch.float32)], inputs, [Experts(w1, w3, w2, 10.0)])
