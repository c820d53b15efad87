"""No worse: shown by the whole interval, and never by a difference that was not found."""

import random
from typing import Any

import pytest

from gates.judge import judge
from tests.gates.windows import timed

MS = 1_000_000


def blocks(level_ms: float, spread_ms: float, seed: int, slow_tape: int | None = None) -> list[list[int]]:
    draw = random.Random(seed)
    return [
        [round(MS * (level_ms + draw.gauss(0, spread_ms) + (2 if tape == slow_tape else 0))) for _ in range(12)]
        for tape in range(8)
    ]


def finding(candidate_ms: float, spread_ms: float = 0.01, slow_tape: int | None = None, **gate: Any) -> Any:
    levels = {"A": 10.0, "A2": 10.0, "B": candidate_ms, "B2": candidate_ms}
    steps = {
        name: blocks(level, spread_ms, seed, slow_tape if name.startswith("B") else None)
        for seed, (name, level) in enumerate(levels.items())
    }
    asked = {"gate": "no_worse", "metric": "step_us", "rows": 6, "within": 100, **gate}
    return judge(asked, timed(steps))


@pytest.mark.parametrize(
    ("candidate_ms", "spread_ms", "expected"),
    [(10.0, 0.01, "met"), (9.0, 0.01, "met"), (10.5, 0.01, "unmet"), (10.1, 0.01, "void"), (10.0, 2.0, "void")],
)
def test_only_an_interval_on_one_side_answers(candidate_ms: float, spread_ms: float, expected: str) -> None:
    assert finding(candidate_ms, spread_ms).finding == expected


def test_one_tapes_loss_is_not_made_good_by_the_others() -> None:
    """A trimmed mean over tapes does not see one slow tape in eight; the question by tape does."""
    assert finding(10.0, slow_tape=3).finding == "met"
    found = finding(10.0, slow_tape=3, by_tape=True)
    assert found.finding == "unmet" and "tape tape3" in found.says
    assert finding(10.0, by_tape=True).finding == "met"


def test_more_tokens_a_second_is_never_worse() -> None:
    assert finding(9.0, metric="tok_s", within=1).finding == "met"
    assert finding(11.0, metric="tok_s", within=1).finding == "unmet"


def test_no_difference_is_called_worse_no_more_often_than_stated() -> None:
    """At the margin itself, an equivalence is claimed in at most one window of twenty."""
    met = sum(
        judge(
            {"gate": "no_worse", "metric": "step_us", "rows": 6, "within": 100},
            timed(
                {
                    name: [[round(MS * (level + draw.gauss(0, 0.02)))] * 3 for _ in range(8)]
                    for name, level in {"A": 10.0, "A2": 10.0, "B": 10.1, "B2": 10.1}.items()
                }
            ),
        ).finding
        == "met"
        for draw in map(random.Random, range(400))
    )
    assert met <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5
