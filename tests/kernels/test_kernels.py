"""Every kernel, on every case, against its reference: shape, dtype, claim, row by row, twice, over poison."""

import importlib

import pytest
import torch

from kernels.address import addresses, find, operations
from kernels.cases import Case
from kernels.matrix import Matrix, Stored
from tests.kernels import oracles, trial
from tests.kernels.trial import INTERPRETED, WRONG, pairs, run, same

# The interpreter is slow, and kernels in Triton have one row tile: a part of it and a row alone have all to tell.
FILLS = (0xFF,) if INTERPRETED else (0xFF, 0x5A)
COUNTS, ALONE = ((5,), (7,)) if INTERPRETED else (range(1, 9), range(8))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


CASES = [pytest.param(address, case, id=f"{address}-{case.name}") for address, case in pairs()]
SOUND = [each for each in CASES if each.values[0] not in WRONG]


@pytest.mark.parametrize(("address", "case"), SOUND)
def test_a_kernel_keeps_its_claim(address, case):
    claim, operation = find(address).claim, find(address).operation
    outputs = trial.whole(address, case.name)
    if claim == "bits":
        assert same(outputs, run(f"{operation}/reference", case))
    else:
        assert oracles.keeps(claim, operation, case, outputs)


@pytest.mark.parametrize(("address", "case"), CASES)
def test_a_row_does_not_know_how_many_rows_run(address, case):
    whole = trial.whole(address, case.name)
    for rows in COUNTS:
        together = run(address, case, 0, rows)
        assert same(together, [output[:rows] for output in whole]), f"{rows} rows"
    for row in ALONE:
        alone = run(address, case, row, row + 1)
        assert same(alone, [output[row : row + 1] for output in whole]), f"row {row}"


@pytest.mark.parametrize(("address", "case"), CASES)
def test_every_element_is_written_and_nothing_is_remembered(address, case):
    """Over a second fill, a NaN in every float, and in a second run the bits are the same."""
    first = trial.whole(address, case.name)
    assert all(same(first, run(address, case, fill=fill)) for fill in FILLS)


def cut(x: torch.Tensor) -> torch.Tensor:
    """The same values, at the beginning of longer rows."""
    longer = torch.zeros((*x.shape[:-1], x.shape[-1] + 3), dtype=x.dtype)
    longer[..., :-3] = x
    return longer[..., :-3]


# What the step hands these operations: rows that share what they attend to, gates beside keys, a context's beginning.
VIEWS = {
    "attend": lambda q, rows, visible: (q, rows[5:6].expand_as(rows), visible[5:6].expand_as(visible)),
    "pool_pair": lambda k, s: torch.stack((k, s), 2).unbind(2),
    "index_scores": lambda *inputs: inputs,
    "select_slots": lambda scores, visible, allowed: (cut(scores), visible, cut(allowed)),
}
GROWING = {("index_scores", 0), ("select_slots", 1)}


@pytest.mark.parametrize(
    "address", [each for operation in VIEWS for each in addresses(operation) if trial.is_triton(each) == INTERPRETED]
)
def test_a_kernel_takes_views_as_the_step_hands_them(address):
    operation = find(address).operation
    case = trial.cases(operation)[0]
    inputs = VIEWS[operation](*case.inputs)
    outputs = [torch.zeros((8, *shape), dtype=dtype) for shape, dtype in case.outputs]
    outputs = [cut(output) if (operation, i) in GROWING else output for i, output in enumerate(outputs)]
    kernel = find(address)
    kernel.run(*outputs, *inputs, *kernel.prepare(case.fixed))
    plain = Case(case.name, case.outputs, [x.contiguous() for x in inputs], case.fixed)
    assert same(outputs, run(f"{operation}/reference", plain))


def test_every_kernel_has_cases_and_says_what_it_moves_and_where_it_comes_from():
    addressed = {address for triton in (False, True) for address, _ in pairs(triton)}
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
        for address, case in pairs(triton=False)
        if address == "linear/torch_wrong_scale"
    ]
    assert all(told) and told


def test_one_ulp_in_one_weight_is_told():
    """Negative control: the comparison sees the smallest change that a weight can have."""
    case = next(case for address, case in pairs(triton=False) if address == "head/reference")
    matrix = case.fixed[0]
    changed = matrix.wt.clone()
    largest = changed.view(-1)[changed.argmax()]
    largest.copy_(torch.nextafter(largest, torch.tensor(9.0)))
    other = Case(case.name, case.outputs, case.inputs, [Matrix(changed, matrix.quantise)])
    assert not same(run("head/reference", case), run("head/reference", other))


@pytest.mark.parametrize("part", ["scale", "code"])
def test_the_oracle_tells_a_weight_with_one_scale_or_one_sign_wrong(part):
    """Negative control: a claim of one ulp is not kept by a block counted twice, nor by a product's sign."""
    case = trial.cases("linear")[1]
    codes, scales = (stored.clone() for stored in case.fixed[0].stored)
    if part == "scale":
        scales[0, 0] += 1
    else:
        codes.view(torch.uint8)[7, 9] ^= 0x80
    wrong = Case(case.name, case.outputs, case.inputs, [Matrix(None, True, Stored(codes, scales))])
    claim = "ulp:bf16=1,f32=16"
    assert oracles.keeps(claim, "linear", case, run("linear/reference", case))
    assert not oracles.keeps(claim, "linear", case, run("linear/reference", wrong))
