"""Operations in double precision, for kernels that claim a distance instead of the reference's bits.

An oracle takes a case's inputs and fixed arguments, and gives for each output its exact value and the size that
an error is measured against where the value itself is smaller: the root of the sum of its terms' squares, which is
what the sum would be if its terms did not cancel.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from kernels.cases import Case
from kernels.matrix import Matrix

NAMES = {torch.bfloat16: "bf16", torch.float32: "f32"}
MANTISSA = {torch.bfloat16: 7, torch.float32: 23}


def keeps(claim: str, operation: str, case: Case, outputs: list[Tensor]) -> bool:
    """Whether every output is as near its exact value as `ulp:bf16=N,f32=M` says for its dtype."""
    bars = dict(part.split("=") for part in claim.removeprefix("ulp:").split(","))
    rows = [x[: len(outputs[0])] for x in case.inputs]
    return all(
        float(distance(output, exact, size).max()) <= int(bars[NAMES[output.dtype]])
        for output, (exact, size) in zip(outputs, ORACLES[operation](*rows, *case.fixed), strict=True)
    )


def distance(output: Tensor, exact: Tensor, size: Tensor) -> Tensor:
    """|output - exact| in ulp of the output's dtype at the larger of the exact value and its size; NaN is far."""
    assert output.shape == exact.shape
    magnitude = torch.maximum(exact.abs(), size).clamp(min=2.0**-100)
    ulp = torch.exp2(torch.floor(torch.log2(magnitude)) - MANTISSA[output.dtype])
    return torch.nan_to_num((output.double() - exact).abs() / ulp, nan=float("inf"))


def product(x: Tensor, wt: Tensor) -> tuple[Tensor, Tensor]:
    """x [..., R, K] times wt [..., K, N], and the root of each sum of squares."""
    x, wt = x.double(), wt.double()
    return x @ wt, ((x * x) @ (wt * wt)).sqrt()


def linear(x: Tensor, matrix: Matrix) -> list[tuple[Tensor, Tensor]]:
    return [product(matrix.input(x), matrix.wt)]


def grouped_linear(x: Tensor, matrix: Matrix) -> list[tuple[Tensor, Tensor]]:
    groups, k, _ = matrix.wt.shape
    exact, size = product(matrix.input(x).unflatten(-1, (groups, k)).transpose(0, 1), matrix.wt)
    return [(exact.transpose(0, 1).flatten(1), size.transpose(0, 1).flatten(1))]


def attn_in(x: Tensor, *matrices: Matrix) -> list[tuple[Tensor, Tensor]]:
    return [product(matrix.input(x), matrix.wt) for matrix in matrices]


ORACLES: dict[str, Callable[..., list[tuple[Tensor, Tensor]]]] = {
    "linear": linear,
    "head": linear,
    "grouped_linear": grouped_linear,
    "attn_in": attn_in,
}
