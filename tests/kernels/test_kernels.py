"""Every kernel, on every case, against its reference: shape, dtype, claim, row by row, twice, over poison."""

import importlib
from collections.abc import Iterator

import pytest
import torch

from kernels.address import addresses, find, operations
from kernels.cases import Case

WRONG = {"linear/torch_wrong_scale"}
FILLS = (0x5A, 0xFF)


def pairs() -> Iterator[tuple[str, Case]]:
    for operation in operations():
        for case in importlib.import_module(f"kernels.{operation}.cases").cases():
            for address in addresses(operation):
                yield address, case


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


def run(address: str, case: Case, first: int = 0, last: int = 8, fill: int = 0x5A) -> list[torch.Tensor]:
    """Outputs for rows first .. last - 1, written over a fill, each inside a larger buffer that is checked."""
    kernel = find(address)
    buffers = [torch.zeros((last - first + 1, *shape), dtype=dtype) for shape, dtype in case.outputs]
    for buffer in buffers:
        buffer.view(torch.uint8).fill_(fill)
    beyond = [bits(buffer[-1]) for buffer in buffers]
    outputs = [buffer[:-1] for buffer in buffers]
    before = [bits(x) for x in case.inputs]
    kernel.run(*outputs, *(x[first:last] for x in case.inputs), *kernel.prepare(case.fixed))
    assert [bits(buffer[-1]) for buffer in buffers] == beyond, "wrote beyond its rows"
    assert [bits(x) for x in case.inputs] == before, "changed an input"
    return outputs


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(x.shape == y.shape and x.dtype == y.dtype and bits(x) == bits(y) for x, y in zip(a, b, strict=True))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


CASES = [pytest.param(address, case, id=f"{address}-{case.name}") for address, case in pairs()]
SOUND = [each for each in CASES if each.values[0] not in WRONG]


@pytest.mark.parametrize(("address", "case"), SOUND)
def test_a_kernel_keeps_its_claim(address, case):
    assert find(address).claim == "bits"
    assert same(run(address, case), run(f"{find(address).operation}/reference", case))


@pytest.mark.parametrize(("address", "case"), CASES)
def test_a_row_does_not_know_how_many_rows_run(address, case):
    alone = [run(address, case, row, row + 1) for row in range(8)]
    for rows in range(1, 9):
        together = run(address, case, 0, rows)
        for row in range(rows):
            assert same([output[row : row + 1] for output in together], alone[row]), f"row {row} of {rows}"


@pytest.mark.parametrize(("address", "case"), CASES)
def test_every_element_is_written_and_nothing_is_remembered(address, case):
    """Two poison fills, the second a NaN in every float, give the same bits; so does a second run."""
    first, *others = [run(address, case, fill=fill) for fill in (*FILLS, FILLS[0])]
    assert all(same(first, other) for other in others)


def test_every_kernel_has_cases_and_says_what_it_moves_and_where_it_comes_from():
    addressed = {address for address, _ in pairs()}
    assert addressed == {address for operation in operations() for address in addresses(operation)}
    for address in addressed:
        operation, name = address.split("/")
        module = importlib.import_module(f"kernels.{operation}.{name}")
        says = module.run.__doc__ or ""
        assert "Source: " in says and "Reads " in says, address


def test_a_wrong_scale_is_told_from_a_sound_kernel():
    """Negative control: the demonstration of a wrong kernel does not keep its claim."""
    told = [
        not same(run("linear/torch_wrong_scale", case), run("linear/reference", case))
        for address, case in pairs()
        if address == "linear/torch_wrong_scale"
    ]
    assert all(told) and told


def test_one_ulp_in_one_weight_is_told():
    """Negative control: the comparison sees the smallest change that a weight can have."""
    case = next(case for address, case in pairs() if address == "head/reference")
    matrix = case.fixed[0]
    changed = matrix.wt.clone()
    changed[5, 7] = torch.nextafter(changed[5, 7], torch.tensor(9.0))
    other = Case(case.name, case.outputs, case.inputs, [matrix._replace(wt=changed)])
    assert not same(run("head/reference", case), run("head/reference", other))
