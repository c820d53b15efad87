"""Weights of one input laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from kernels.matrix import Matrix


class Merged(NamedTuple):
    """Several weights as one.

    matrix  wt [K, sum of widths] f32
    widths  columns of each
    places  which output each belongs to
    """

    matrix: Matrix
    widths: list[int]
    places: list[int]


def merge(matrices: Sequence[Matrix]) -> tuple[Merged, ...]:
    """One group for the weights that want Q8 and one for the others, each if there are any."""
    groups = []
    for quantise in (True, False):
        places = [place for place, matrix in enumerate(matrices) if matrix.quantise == quantise]
        if places:
            wt = torch.cat([matrices[place].wt for place in places], -1)
            groups.append(Merged(Matrix(wt, quantise), [matrices[p].wt.shape[-1] for p in places], places))
    return tuple(groups)
