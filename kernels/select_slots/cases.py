"""Cases of select_slots: ties across the k-th value, rows that see few slots, blocks that bite."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.select_slots.reference import Rule


def cases() -> Iterator[Case]:
    slots = 24
    visible = torch.tensor([0, 1, 4, 5, 16, 17, 23, 24])
    hidden = torch.arange(slots) >= visible[:, None]
    for blocks in (0, 3):
        for name, scores in (("normal", draw(5)(8, slots)), ("ties", draw(6)(8, slots).round())):
            scores = scores.bfloat16().masked_fill(hidden, float("-inf"))
            allowed = draw(7)(8, slots) > -1
            yield Case(
                f"{name}-{blocks}",
                [((6,), torch.int64), ((slots,), torch.bool)],
                [scores, visible, allowed],
                [Rule(6, blocks, 4)],
            )
