"""Cases of head."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, bf16_matrix, draw


def cases() -> Iterator[Case]:
    normal = draw(13)
    yield Case("128x200", [((200,), torch.float32)], [normal(8, 128).bfloat16()], [bf16_matrix(normal, 128, 200)])
