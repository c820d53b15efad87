"""Cases of engram_rows."""

from collections.abc import Iterator

import torch

from kernels.cases import Case


def cases() -> Iterator[Case]:
    generator = torch.Generator().manual_seed(10)
    codes = torch.randint(0, 127, (50, 64), generator=generator, dtype=torch.uint8)
    scales = torch.randint(120, 130, (50, 2), generator=generator, dtype=torch.uint8)
    ids = torch.randint(0, 50, (8, 6), generator=generator)
    yield Case("50x64", [((384,), torch.bfloat16)], [ids], [codes, scales])
