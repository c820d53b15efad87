"""The k largest scores have one right order: larger first, the lower index at a tie."""

import pytest

from gates.ranking import difference, top


@pytest.mark.parametrize(
    ("scores", "k", "expected"),
    [
        ([3, 2, 3, 2, 1, 1], 2, [0, 2]),
        ([1, 2, 5, 4, 5], 3, [2, 4, 3]),
        ([-0.1944, -0.1944, -0.1945], 1, [0]),
        ([0.0, -0.0, 0.0, -0.0], 3, [0, 1, 2]),
        ([-0.0, 0.0], 1, [0]),
        ([0.5] * 12, 6, [0, 1, 2, 3, 4, 5]),
        ([0.9, 0.8, 0.7, 0.7, 0.7, 0.6, 0.7, 0.5], 4, [0, 1, 2, 3]),
        ([1e-45, 0.0, -1e-45, 0.0], 2, [0, 1]),
    ],
)
def test_the_k_largest_come_larger_first_and_lower_index_first(
    scores: list[float], k: int, expected: list[int]
) -> None:
    assert top(scores, k) == expected


@pytest.mark.parametrize(
    ("given", "says"),
    [([2, 4, 3], None), ([4, 2, 3], "order"), ([2, 4, 1], "set"), ([2, 4], "set"), ([2, 2, 3], "set")],
)
def test_another_order_is_told_apart_from_another_set(given: list[int], says: str | None) -> None:
    assert difference([2, 4, 3], given) == says
