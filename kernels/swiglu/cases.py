"""Cases of swiglu: inside and beyond the clamps."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw, fp8_matrix
from kernels.experts.reference import Experts


def cases() -> Iterator[Case]:
    for gain, dtype, quantise in (
        (1.0, torch.bfloat16, True),
        (20.0, torch.bfloat16, True),
        (1.0, torch.float32, False),
    ):
        normal = draw(int(gain) + 40)
        w1, w3 = (fp8_matrix(normal, 96, 32, gain=gain, quantise=quantise) for _ in range(2))
        expert = Experts(w1, w3, fp8_matrix(normal, 32, 64, quantise=quantise), 10.0)
        yield Case(f"{gain}-{dtype}", [((64,), torch.float32)], [normal(8, 96).to(dtype)], [expert])
