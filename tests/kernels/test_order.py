"""Sums run in one order that the row count cannot change, and ties go to the lower index."""

import pytest
import torch

from kernels import elementary, order


def literal_sum(values: list[float]) -> float:
    """The stated order in scalars: halves inside a block of 32, then the blocks ascending."""
    values = values + [0.0] * (-len(values) % 32)
    total = None
    for start in range(0, len(values), 32):
        block = [torch.tensor(v) for v in values[start : start + 32]]
        for half in (16, 8, 4, 2, 1):
            block = [block[i] + block[i + half] for i in range(half)]
        total = block[0] if total is None else total + block[0]
    return float(total)


@pytest.mark.parametrize("k", [1, 22, 32, 64, 160])
def test_a_dot_is_summed_in_the_stated_order(k):
    torch.manual_seed(k)
    x, wt = torch.randn(3, k), torch.randn(k, 5)
    expected = [[literal_sum((x[r] * wt[:, n]).tolist()) for n in range(5)] for r in range(3)]
    assert order.dot(x, wt).tolist() == expected
    assert order.dot_by_block(x, wt).tolist() == expected


@pytest.mark.parametrize("shape", [(1,), (40,), (6, 64), (2, 3, 96)])
def test_a_plain_sum_has_the_same_order(shape):
    torch.manual_seed(1)
    v = torch.randn(shape)
    expected = torch.tensor([literal_sum(row.tolist()) for row in v.reshape(-1, shape[-1])]).reshape(shape[:-1])
    assert torch.equal(order.total(v), expected)
    assert torch.equal(order.total_by_block(v), expected)


@pytest.mark.parametrize("shape", [(32,), (64, 6), (96, 2, 3)])
def test_a_sum_over_the_leading_dimension_has_the_same_order(shape):
    torch.manual_seed(4)
    v = torch.randn(shape)
    expected = order.total(v.movedim(0, -1))
    assert torch.equal(order.total_leading(v), expected)


@pytest.mark.parametrize("piece", [1, 3 * 64, 1 << 10])
def test_running_over_columns_in_pieces_changes_no_bit(monkeypatch, piece):
    torch.manual_seed(2)
    x, wt = torch.randn(4, 2, 3, 64), torch.randn(2, 64, 10)
    whole = order.dot(x, wt)
    monkeypatch.setattr(order, "_piece", lambda left, right: piece // 64 or 1)
    assert torch.equal(order.dot(x, wt), whole)


def test_results_do_not_share_the_scratch():
    x, wt = torch.ones(2, 32), torch.ones(32, 3)
    first = order.dot(x, wt)
    second = order.dot(2 * x, wt)
    assert (first.tolist(), second.tolist()) == ([[32.0] * 3] * 2, [[64.0] * 3] * 2)


def test_a_scratch_made_in_inference_mode_serves_outside_too():
    with torch.inference_mode():
        inside = order.dot(torch.ones(7, 32), torch.ones(32, 11))
    assert torch.equal(order.dot(torch.ones(7, 32), torch.ones(32, 11)), inside)


FUNCTIONS = (elementary.exp, elementary.sigmoid, elementary.silu, elementary.softplus, elementary.rsqrt)
PLACED = (*FUNCTIONS, torch.cos, torch.sin, torch.sqrt)


@pytest.mark.parametrize("function", PLACED, ids=lambda function: function.__name__)
def test_a_function_of_a_value_does_not_depend_on_where_it_stands(function):
    """For every length up to 64, whole and from an offset: vector code and tails must round alike."""
    torch.manual_seed(3)
    values = torch.randn(64) * 5
    values = values.abs() if function in (elementary.rsqrt, torch.sqrt) else values
    alone = torch.cat([function(value[None]) for value in values])
    for length in range(1, 65):
        assert torch.equal(function(values[:length]), alone[:length]), length
        assert torch.equal(function(values[64 - length :]), alone[64 - length :]), length


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_is_within_two_ulp_of_double_precision(function):
    values = torch.linspace(0.01, 20, 999) if function is elementary.rsqrt else torch.linspace(-20, 20, 999)
    exact = function(values.double())
    assert ((function(values) - exact).abs() <= 4 * torch.finfo(torch.float32).eps * exact.abs()).all()


def test_ties_go_to_the_lower_index():
    scores = torch.tensor([[1.0, 3.0, 3.0, -0.0, 0.0, 3.0], [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]])
    assert order.top_k(scores, 4).tolist() == [[1, 2, 5, 0], [0, 1, 2, 3]]


def test_the_library_breaks_ties_by_the_length_of_the_row():
    """Why ties are ours: the library's own choice among equal scores is not the lower index everywhere."""
    ours = [order.top_k(torch.ones(n), 6).tolist() for n in range(6, 200)]
    theirs = [torch.topk(torch.ones(n), 6).indices.tolist() for n in range(6, 200)]
    assert ours == [list(range(6))] * len(ours)
    assert theirs != ours
