"""Cases of embed: the first, the last and a repeated token."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    ids = torch.tensor([0, 1, 1, 31, 30, 7, 7, 5])
    yield Case("bf16", [((4, 128), torch.bfloat16)], [ids], [draw(9)(32, 128).bfloat16()])
