"""Cases of grouped_linear: two wide groups and eight narrow ones, as FP8 and as bf16."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, bf16_matrix, draw, fp8_matrix


def cases() -> Iterator[Case]:
    for stored, groups, k, n in ((fp8_matrix, 2, 128, 32), (bf16_matrix, 8, 64, 24)):
        normal = draw(groups + k)
        matrix = stored(normal, groups, k, n, quantise=False)
        inputs = [normal(8, groups * k).bfloat16()]
        yield Case(f"{groups}x{k}x{n}", [((groups * n,), torch.bfloat16)], inputs, [matrix])
