"""Cases of attend: a row that sees nothing, one entry, all."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    for entries, dtype in ((22, torch.bfloat16), (64, torch.float32)):
        normal = draw(entries)
        visible = torch.arange(entries) < torch.tensor([0, 1, entries, 3, 7, 11, 16, 20])[:, None]
        inputs = [normal(8, 4, 64).to(dtype), normal(8, entries, 64), visible]
        yield Case(f"{entries}-{dtype}", [((4, 64), dtype)], inputs, [normal(4), 64**-0.5])
