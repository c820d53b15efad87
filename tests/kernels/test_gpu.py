"""Kernels in Triton on a CUDA device: the bits that the reference has on the CPU, or the distance that they claim."""

from typing import Any

import pytest
import torch

from kernels.address import find
from kernels.cases import Case
from kernels.matrix import Matrix, Stored
from tests.kernels import oracles, trial

CASES = [pytest.param(address, case, id=f"{address}-{case.name}") for address, case in trial.pairs(triton=True)]


def moved(value: Any, device: str) -> Any:
    """A kernel's argument with every tensor in it on another device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, Matrix):
        return Matrix(None, value.quantise, Stored(*moved(tuple(value.stored), device)))
    if isinstance(value, tuple):
        parts = [moved(part, device) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def on_device(address: str, case: Case, first: int = 0, last: int = 8) -> list[torch.Tensor]:
    """Outputs of rows first .. last - 1, over NaN."""
    kernel = find(address)
    outputs = [torch.zeros((last - first, *shape), dtype=dtype, device="cuda") for shape, dtype in case.outputs]
    for output in outputs:
        output.view(torch.uint8).fill_(0xFF)
    fixed = kernel.prepare([moved(value, "cuda") for value in case.fixed])
    kernel.run(*outputs, *(x[first:last].cuda() for x in case.inputs), *fixed)
    return [output.cpu() for output in outputs]


@pytest.mark.gpu
@pytest.mark.parametrize(("address", "case"), CASES)
def test_a_kernel_keeps_its_claim_on_a_device(address, case):
    claim, operation = find(address).claim, find(address).operation
    outputs = on_device(address, case)
    if claim == "bits":
        assert trial.same(outputs, trial.whole(f"{operation}/reference", case.name))
    else:
        assert oracles.keeps(claim, operation, case, outputs)


@pytest.mark.gpu
@pytest.mark.parametrize(("address", "case"), CASES)
def test_a_row_on_a_device_does_not_know_how_many_rows_run(address, case):
    whole = on_device(address, case)
    for row in range(8):
        assert trial.same(on_device(address, case, row, row + 1), [output[row : row + 1] for output in whole])
    for rows in range(1, 8):
        assert trial.same(on_device(address, case, 0, rows), [output[:rows] for output in whole])
