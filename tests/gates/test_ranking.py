"""Ties go to the lower index, and two choices that differ say how."""

import pytest

from gates.ranking import difference, top

CASES = [
    ([3, 2, 3, 2, 1, 1], 2, [0, 2]),
    ([1, 2, 5, 4, 5], 3, [2, 4, 3]),
    ([-0.1944, -0.1944, -0.1945], 1, [0]),
    ([0.0, -0.0, 0.0, -0.0], 3, [0, 1, 2]),
    ([0.5] * 12, 6, [0, 1, 2, 3, 4, 5]),
    ([0.9, 0.8, 0.7, 0.7, 0.7, 0.6, 0.7, 0.5], 4, [0, 1, 2, 3]),
    ([1e-45, 0.0, -1e-45, 0.0], 2, [0, 1]),
]


@pytest.mark.parametrize(("scores", "k", "expected"), CASES)
def test_the_larger_wins_and_of_equals_the_lower_index(scores: list[float], k: int, expected: list[int]) -> None:
    assert top(scores, k) == expected


@pytest.mark.parametrize(
    ("given", "expected"), [([0, 2, 4], None), ([2, 0, 4], "order"), ([0, 2, 3], "set"), ([0, 2], "set")]
)
def test_another_order_is_told_apart_from_another_set(given: list[int], expected: str | None) -> None:
    assert difference([0, 2, 4], given) == expected
