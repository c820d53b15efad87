"""Cases of select_slots: ties across the k-th value, rows that see few slots, blocks that bite, more than a tile."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw
from kernels.select_slots.reference import Rule


def cases() -> Iterator[Case]:
    for name, slots, blocks, dtype in (
        ("normal", 24, 3, torch.bfloat16),
        ("ties", 24, 3, torch.bfloat16),
        ("long", 1100, 0, torch.float32),
    ):
        visible = torch.tensor([0, 1, 4, 5, 16, 17, slots - 1, slots])
        hidden = torch.arange(slots) >= visible[:, None]
        scores = draw(5)(8, slots)
        scores = (scores if name == "normal" else scores.round()).to(dtype).masked_fill(hidden, float("-inf"))
        yield Case(
            f"{name}-{blocks}",
            [((6,), torch.int64), ((slots,), torch.bool)],
            [scores, visible, draw(7)(8, slots) > -1],
            [Rule(6, blocks, 4)],
        )
