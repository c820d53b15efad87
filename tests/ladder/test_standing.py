"""A rung stands by all its windows: re-running confirms or contests, and never washes out."""

import shutil
from pathlib import Path

import pytest

from ladder import records, standing, verdict
from ladder.standing import Standing, combine
from tests.ladder import windows

RUNG, PROFILE = "demo", "cpu"
LOSS, GAIN = 120_000_000, 80_000_000  # ns a step, on a control of 100 ms
NEAR = 90_300_000  # hardly short of the bar of 10 ms less


def stand(root: Path, *steps_ns: int | None) -> Standing:
    """The standing after one graded window a step time; None is a window whose candidate crashed at boot."""
    for day, step_ns in enumerate(steps_ns, start=1):
        built = windows.parts(candidate_ns=step_ns or GAIN) | {"at": f"2026-12-{day:02}T00:00:00Z"}
        if step_ns is None:
            built["arms"]["B"] |= {"observe": {}, "readings": {}}
            built["arms"]["B"]["receipt"]["ended"] = "crashed"
        verdict.grade(root, RUNG, windows.lay(root, built))
    return standing.standing(root, RUNG, PROFILE)


@pytest.mark.parametrize(
    ("steps_ns", "outcome", "says"),
    [
        ((GAIN,), "PASS", "1 of 1"),
        ((GAIN, GAIN), "PASS", "2 of 2"),
        ((LOSS,), "FAIL", "1 of 1"),
        ((GAIN, LOSS), "INCONCLUSIVE", "contested, 1 of 2 passed"),
        ((LOSS, GAIN, GAIN, GAIN), "INCONCLUSIVE", "contested, 3 of 4 passed"),
        ((NEAR,), "INCONCLUSIVE", "no window decided it; 1 undecided (noise)"),
        ((GAIN, NEAR), "INCONCLUSIVE", "contested, 1 of 2 sound windows passed; 1 undecided (noise)"),
        ((NEAR, NEAR, NEAR, GAIN), "INCONCLUSIVE", "contested, 1 of 4 sound windows passed; 3 undecided (noise 3)"),
        ((LOSS, NEAR), "FAIL", "1 of 1; 1 undecided (noise)"),
        ((None,), "INVALID", "no window decided it; 1 ended before the candidate was read"),
        ((GAIN, None), "PASS", "1 of 1; 1 ended before the candidate was read"),
    ],
)
def test_a_standing_is_the_common_outcome_of_all_windows(
    tmp_path: Path, steps_ns: tuple[int | None, ...], outcome: str, says: str
) -> None:
    stood = stand(tmp_path, *steps_ns)
    assert (stood.outcome, stood.says.split("; step_us")[0]) == (outcome, says)


def test_a_rung_without_a_window_was_not_run(tmp_path: Path) -> None:
    assert standing.standing(tmp_path, RUNG, PROFILE).outcome == standing.NOT_RUN


def test_a_window_that_nobody_graded_still_counts_as_an_attempt(tmp_path: Path) -> None:
    windows.lay(tmp_path, windows.parts())
    stood = standing.standing(tmp_path, RUNG, PROFILE)
    assert (stood.outcome, stood.says) == ("INCONCLUSIVE", "no window decided it; 1 undecided (ungraded)")


def test_a_window_that_was_killed_without_a_trace_of_the_candidate_counts_as_undecided(tmp_path: Path) -> None:
    verdict.grade(tmp_path, RUNG, windows.lay(tmp_path, windows.parts() | {"arms": {}}))
    stood = standing.standing(tmp_path, RUNG, PROFILE)
    assert (stood.outcome, stood.says.split(" (")[0]) == ("INCONCLUSIVE", "no window decided it; 1 undecided")


def test_an_exploratory_window_is_shown_and_decides_nothing(tmp_path: Path) -> None:
    built = windows.parts() | {"start": {"registration": None, "exploratory": ["a.py changed"]}}
    verdict.grade(tmp_path, RUNG, windows.lay(tmp_path, built))
    stood = standing.standing(tmp_path, RUNG, PROFILE)
    assert (stood.outcome, stood.says) == ("INCONCLUSIVE", "no window decided it; 1 undecided (exploratory)")


def test_replicates_are_weighed_by_their_precision() -> None:
    mean, half = combine([(-10.0, 1.0), (-12.0, 3.0)])
    assert mean == pytest.approx((-10 + -12 / 9) / (1 + 1 / 9)) and half < 1


def test_replicates_that_disagree_make_the_answer_less_sure_not_surer() -> None:
    assert combine([(-10.0, 1.0), (10.0, 1.0)])[1] > 1


def test_a_window_that_lies_in_several_folders_counts_once(tmp_path: Path) -> None:
    stood = stand(tmp_path, GAIN)
    window = tmp_path / "receipts" / RUNG / stood.attempts[0].window
    for copy in (tmp_path / "receipts" / "other" / window.name, window.with_name("0" * 8)):
        shutil.copytree(window, copy)
    assert standing.standing(tmp_path, RUNG, PROFILE) == stood


def test_a_window_whose_folder_was_renamed_still_counts(tmp_path: Path) -> None:
    stood = stand(tmp_path, LOSS)
    window = tmp_path / "receipts" / RUNG / stood.attempts[0].window
    window.rename(window.with_name("0" * 8))
    assert standing.standing(tmp_path, RUNG, PROFILE).outcome == "FAIL"


def test_of_two_verdicts_over_the_same_receipts_the_worse_counts(tmp_path: Path) -> None:
    """A sidecar that was edited after a PASS: grading again finds it, and no digest decides which verdict is heard."""
    window = windows.lay(tmp_path, windows.parts())
    folder = tmp_path / "receipts" / RUNG / window
    assert verdict.grade(tmp_path, RUNG, window)[0]["outcome"] == "PASS"
    sidecar = next(folder.glob("readings-*.json"))
    sidecar.write_bytes(sidecar.read_bytes().replace(b"1", b"2", 1))
    assert verdict.grade(tmp_path, RUNG, window)[0]["outcome"] == "INVALID"
    assert standing.standing(tmp_path, RUNG, PROFILE).attempts[0].outcome == "INVALID"


def test_a_verdict_over_receipts_that_are_no_longer_there_does_not_count(tmp_path: Path) -> None:
    window = windows.lay(tmp_path, windows.parts())
    receipt = tmp_path / "receipts" / RUNG / window / "B.json"
    assert verdict.grade(tmp_path, RUNG, window)[0]["outcome"] == "PASS"
    receipt.write_bytes(receipt.read_bytes().replace(b'"threads": 1', b'"threads": 2', 1))
    assert verdict.grade(tmp_path, RUNG, window)[0]["outcome"] == "INVALID"
    assert standing.standing(tmp_path, RUNG, PROFILE).attempts[0].outcome == "INVALID"


def test_a_standing_of_scripts_says_that_nothing_was_measured() -> None:
    def played(*scripted: bool) -> str:
        attempts = [standing.Attempt("w", "t", "PASS", (), True, None, each) for each in scripted]
        return standing._stand(RUNG, PROFILE, attempts).says

    assert played(True, True).endswith("script: not a measurement")
    assert played(True, False).endswith("1 scripted: not measurements")
    assert "script" not in played(False)


def test_the_verdict_that_counts_is_the_one_that_saw_the_most_receipts(tmp_path: Path) -> None:
    window = windows.lay(tmp_path, windows.parts())
    receipt, aside = tmp_path / "receipts" / RUNG / window / "B2.json", tmp_path / "B2.json"
    receipt.rename(aside)
    early, _ = verdict.grade(tmp_path, RUNG, window)
    aside.rename(receipt)
    late, _ = verdict.grade(tmp_path, RUNG, window)
    assert (early["outcome"], late["outcome"]) == ("INVALID", "PASS")
    current = standing.current(records.scan(tmp_path))
    assert current is not None and current.value["outcome"] == "PASS"
