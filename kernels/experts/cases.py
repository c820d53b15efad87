"""Cases of experts: with and without Q8, values beyond the clamps, both dtypes."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw, fp4_matrix
from kernels.experts.reference import Experts


def cases() -> Iterator[Case]:
    count, width, inner = 4, 64, 32
    ids = torch.stack([torch.randperm(count, generator=torch.Generator().manual_seed(r))[:2] for r in range(8)])
    for quantise, gain, dtype in (
        (True, 1.0, torch.bfloat16),
        (True, 20.0, torch.bfloat16),
        (False, 1.0, torch.float32),
    ):
        normal = draw(int(gain))
        w1, w3 = (fp4_matrix(normal, count, width, inner, gain=gain, quantise=quantise) for _ in range(2))
        w2 = fp4_matrix(normal, count, inner, width, gain=gain, quantise=quantise)
        inputs = [normal(8, width).to(dtype), ids.sort(1).values, normal(8, 2).abs()]
        yield Case(f"{quantise}-{gain}-{dtype}", [((width,), torch.float32)], inputs, [Experts(w1, w3, w2, 10.0)])
