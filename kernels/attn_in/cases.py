"""Cases of attn_in: a window layer's two projections, and a KV source's five."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, bf16_matrix, draw, fp8_matrix


def cases() -> Iterator[Case]:
    for name, stored in (
        ("window", [(fp8_matrix, 64), (fp8_matrix, 32)]),
        ("source", [(fp8_matrix, 64), (fp8_matrix, 32), (bf16_matrix, 32), (bf16_matrix, 32), (bf16_matrix, 4)]),
    ):
        normal = draw(len(stored))
        matrices = [make(normal, 128, n) for make, n in stored]
        outputs = [((m.columns,), torch.bfloat16 if m.quantise else torch.float32) for m in matrices]
        yield Case(name, outputs, [normal(8, 128).bfloat16()], matrices)
