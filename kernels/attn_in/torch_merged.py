"""Same-input projections merged: one product for all FP8 weights, one for all bf16 weights."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kernels import order
from kernels.attn_in.merged import Merged, merge
from kernels.matrix import Matrix

CLAIM = "bits"


def prepare(matrices: Sequence[Matrix]) -> tuple[Merged, ...]:
    """The weights side by side, those that want Q8 apart from those that do not."""
    return merge(matrices)


def run(*arguments: Tensor | Merged) -> None:
    """run(*outputs, x, *merged): every projection of x [R, D], as `attn_in/reference` writes them.

    x        [R, D] bf16 or f32
    outputs  [R, N_i] bf16 or f32, one a projection

    One Q8 serves all FP8 weights. A column's f32 sum over D does not know its neighbours: by 32-blocks, halves
    inside, blocks ascending; depends on D alone.
    Reads every weight once as the reference does, and x once or twice.
    Source: written here.
    """
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    outputs, x = tensors[:-1], tensors[-1]
    for merged in arguments:
        if isinstance(merged, Merged):
            columns = order.dot(merged.matrix.input(x), merged.matrix.wt).split(merged.widths, -1)
            for place, column in zip(merged.places, columns, strict=True):
                outputs[place].copy_(column)
