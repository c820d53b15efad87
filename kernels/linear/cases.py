"""Cases of linear: each stored format, with and without Q8, K of one block and of many, odd N, f32 and bf16 out."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, bf16_matrix, draw, fp4_matrix, fp8_matrix
from kernels.matrix import Matrix


def cases() -> Iterator[Case]:
    bf16, f32 = torch.bfloat16, torch.float32
    normal = draw(32)
    for name, matrix, into, out in (
        ("32x64-fp8", fp8_matrix(normal, 32, 64), bf16, bf16),
        ("192x40-fp8", fp8_matrix(normal, 192, 40), bf16, bf16),
        ("128x24-fp8-plain", fp8_matrix(normal, 128, 24, quantise=False), f32, f32),
        ("64x96-fp4", fp4_matrix(normal, 64, 96), bf16, bf16),
        ("128x24-bf16", bf16_matrix(normal, 128, 24), bf16, f32),
        ("128x24-f32", Matrix(normal(128, 24, scale=128**-0.5), True), bf16, bf16),
    ):
        x = normal(8, matrix.wt.shape[0]).to(into)
        x[3] = 0
        yield Case(name, [((matrix.columns,), out)], [x], [matrix])
