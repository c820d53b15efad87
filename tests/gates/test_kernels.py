"""Launches a step, candidate minus control, from what was counted while observing."""

import pytest

from gates.finding import Finding
from gates.judge import judge
from tests.gates import windows


def found(a: int, b: int, a2: int, bar: float = 0, steps: int = 4) -> Finding:
    """The gate's answer for arms that launched so many kernels over the pass's steps."""
    counts = {"A": a, "B": b, "A2": a2}
    arms = [
        windows.arm(name, [windows.observed(6, "o", launches=count, steps=steps)]) for name, count in counts.items()
    ]
    return judge({"gate": "kernels", "launches": bar}, windows.window(arms))


@pytest.mark.parametrize(
    ("launches", "bar", "answer"),
    [
        (40, 0, "met"),
        (36, 0, "met"),
        (44, 0, "unmet"),
        (44, 1, "met"),
        (36, -1, "met"),
        (40, -1, "unmet"),
        (41, 0.25, "met"),
    ],
)
def test_the_candidate_may_launch_at_most_so_many_more_a_step(launches: int, bar: float, answer: str) -> None:
    assert found(40, launches, 40, bar).finding == answer


def test_both_counts_and_the_bar_are_told() -> None:
    assert found(40, 44, 40).says == "11.00 launches a step against 10.00 (+1.00; bar +0), 6 rows"


def test_controls_that_launch_unlike_counts_void_it() -> None:
    assert (found(40, 40, 41).finding, found(40, 40, 41).code) == ("void", "controls_apart")


@pytest.mark.parametrize("counts", [(0, 0, 0), (40, 0, 40)])
def test_a_count_of_nothing_is_no_evidence(counts: tuple[int, int, int]) -> None:
    assert found(*counts).code == "missing_pass"


def test_a_pass_without_steps_is_no_evidence() -> None:
    assert found(40, 40, 40, steps=0).code == "missing_pass"
