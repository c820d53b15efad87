"""Cases of rotate: every codec, one vector and several a row."""

from collections.abc import Iterator

import torch

from kernels.cases import Case, draw


def cases() -> Iterator[Case]:
    for codec, shape in (("none", (4, 64)), ("q8", (64,)), ("q4i", (4, 32)), ("q4kv", (64,))):
        normal = draw(len(codec))
        angle = normal(8, 8, scale=3.0)
        x = normal(8, *shape).bfloat16()
        x[3] = 0
        yield Case(codec, [(shape, torch.bfloat16)], [x, angle.cos(), angle.sin()], [codec])
