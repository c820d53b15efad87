"""Cases of index_scores: rows that see nothing, some and all of the slots, in both dtypes."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    visible = torch.tensor([0, 1, 5, 6, 6, 12, 13, 13])
    for dtype in (torch.bfloat16, torch.float32):
        normal = draw(4)
        inputs = [normal(8, 4, 32).to(dtype), normal(8, 4).to(dtype), visible]
        yield Case(f"{dtype}", [((13,), dtype)], inputs, [normal(13, 32), 0.088])
