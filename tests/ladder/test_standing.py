"""A rung stands by all its windows: re-running confirms or contests, and never washes out."""

from pathlib import Path
from typing import Any

import pytest

from ladder import records, standing, verdict
from ladder.standing import Standing, combine
from tests.ladder import windows

LOSS, GAIN = -20_000_000, 20_000_000


def stand(root: Path, *gains: int | None) -> Standing:
    """The standing after one graded window a gain; None is a window in which the candidate's arm crashed at boot."""
    for day, gain in enumerate(gains, start=1):
        made = windows.make(
            root,
            gain_ns=gain or 0,
            at=f"2026-12-{day:02}T00:00:00Z",
            received=crashed if gain is None else windows.nothing,
        )
        verdict.grade(root, windows.RUNG, made.window)
    return standing.standing(root, windows.RUNG, windows.PROFILE)


def crashed(arm: str, value: dict[str, Any]) -> None:
    if arm == "B":
        value.update(ended="crashed", observe=[], measure=[])


@pytest.mark.parametrize(
    ("gains", "outcome", "says"),
    [
        ((GAIN,), "PASS", "1 of 1"),
        ((GAIN, GAIN), "PASS", "2 of 2"),
        ((LOSS,), "FAIL", "1 of 1"),
        ((GAIN, LOSS), "INCONCLUSIVE", "contested, 1 of 2 passed"),
        ((LOSS, GAIN, GAIN, GAIN), "INCONCLUSIVE", "contested, 3 of 4 passed"),
        ((10_000_000,), "INCONCLUSIVE", "no window decided it; 1 undecided (noise)"),
        ((GAIN, 10_000_000), "PASS", "1 of 1; 1 undecided (noise)"),
        ((None,), "INVALID", "no window decided it; 1 ended before the candidate was read"),
        ((GAIN, None), "PASS", "1 of 1; 1 ended before the candidate was read"),
    ],
)
def test_a_standing_is_the_common_outcome_of_all_decided_windows(
    tmp_path: Path, gains: tuple[int | None, ...], outcome: str, says: str
) -> None:
    stood = stand(tmp_path, *gains)
    assert (stood.outcome, stood.says.split("; step_us")[0]) == (outcome, says)


def test_a_rung_without_a_window_was_not_run(tmp_path: Path) -> None:
    assert standing.standing(tmp_path, "r1", "cpu").outcome == standing.NOT_RUN


def test_a_window_that_nobody_graded_still_counts_as_an_attempt(tmp_path: Path) -> None:
    windows.make(tmp_path)
    stood = standing.standing(tmp_path, windows.RUNG, windows.PROFILE)
    assert (stood.outcome, stood.says) == ("INCONCLUSIVE", "no window decided it; 1 undecided (ungraded)")


def test_an_exploratory_window_is_shown_and_decides_nothing(tmp_path: Path) -> None:
    made = windows.make(tmp_path, started=lambda value: value.update(registration=None, exploratory=["a.py changed"]))
    verdict.grade(tmp_path, windows.RUNG, made.window)
    stood = standing.standing(tmp_path, windows.RUNG, windows.PROFILE)
    assert (stood.outcome, stood.says) == ("INCONCLUSIVE", "no window decided it; 1 undecided (exploratory)")


def test_replicates_are_weighed_by_their_precision() -> None:
    mean, half = combine([(-10.0, 1.0), (-12.0, 3.0)])
    assert mean == pytest.approx((-10 + -12 / 9) / (1 + 1 / 9)) and half < 1


def test_replicates_that_disagree_make_the_answer_less_sure_not_surer() -> None:
    assert combine([(-10.0, 1.0), (10.0, 1.0)])[1] > 1


def test_the_verdict_that_counts_is_the_one_that_saw_the_most_receipts(tmp_path: Path) -> None:
    made = windows.make(tmp_path)
    aside = made.folder.parent.parent / "B2.json"
    (made.folder / "B2.json").rename(aside)
    early, _ = verdict.grade(tmp_path, windows.RUNG, made.window)
    aside.rename(made.folder / "B2.json")
    late, _ = verdict.grade(tmp_path, windows.RUNG, made.window)
    assert (early["outcome"], late["outcome"]) == ("INVALID", "PASS")
    current = standing.current(each for each in records.scan(tmp_path) if each.kind == "verdict")
    assert current is not None and current.value["outcome"] == "PASS"
