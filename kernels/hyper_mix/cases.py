"""Cases of hyper_mix: tiny, large and zero rows, saturated mixes."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.hyper_mix.sinkhorn import Mix

OUTPUTS = [((4,), torch.float32), ((4,), torch.float32), ((4, 4), torch.float32)]


def cases() -> Iterator[Case]:
    for width, gain in ((64, 1.0), (128, 1.0), (128, 30.0)):
        normal = draw(width)
        h = normal(8, 4, width).bfloat16()
        h[1] *= 1e-6
        h[2] *= 1e3
        h[3] = 0
        fn = normal(4 * width, 24, scale=gain * (4 * width) ** -0.5)
        yield Case(f"{width}-{gain}", OUTPUTS, [h], [Mix(fn, normal(3), normal(24), 20, 1e-6, 1e-20)])
