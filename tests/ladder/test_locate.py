"""Where two arms' runs part, from their receipts."""

from pathlib import Path
from typing import Any

import pytest

from ladder import locate, progress
from ladder.locate import NoReceipt, NotComparable
from ladder.run import run
from tests.ladder import checkouts, windows


def played(root: Path, script: dict[str, Any]) -> tuple[Path, str]:
    """A scripted window's checkout, and what its receipts are called but for the arm."""
    checkouts.make(root, script=script)
    outcome = run(root, "demo", "cpu", progress=progress.Silent())
    return root, f"demo/{outcome.verdict['window']}"


def test_the_first_step_that_parts_is_told_at_each_row_count(tmp_path: Path) -> None:
    root, window = played(tmp_path / "c", {"differs": {"B": {"tape": "code", "position": 13, "tokens": True}}})
    six, one = locate.locate(root, f"{window}/A", f"{window}/B")
    assert (six["rows"], six["step"]["tape"], six["step"]["key"]) == (6, "code", "argmax")
    assert six["step"]["position"] + six["step"]["row"] == 13
    assert (one["rows"], one["step"]["position"]) == (1, 13)
    assert one["margin_ulp"] == 1000
    text = locate.text([six, one], "X", "Y")
    assert "6 rows: Y parts from X at tape code" in text and "1000 ulp apart" in text


def test_equal_runs_part_nowhere(tmp_path: Path) -> None:
    root, window = played(tmp_path / "c", {})
    found = locate.locate(root, f"receipts/{window}/A.json", f"{window}/A2")
    assert [each["step"] for each in found] == [None, None]
    assert locate.text(found, "X", "Y") == "6 rows: Y gives the bits of X\n1 rows: Y gives the bits of X"


def spoiled(root: Path, **changes: Any) -> str:
    """A window laid on disk whose arm B differs as told."""
    built = windows.parts()
    built["arms"]["B"]["receipt"] |= changes
    return f"demo/{windows.lay(root, built)}"


def test_arms_of_other_models_or_machines_are_refused_by_the_field(tmp_path: Path) -> None:
    model = {"name": "tiny", "checkpoint_sha256": "0" * 64, "arithmetic": "plain"}
    window = spoiled(tmp_path, model=model)
    with pytest.raises(NotComparable, match=r"model\.(arithmetic|checkpoint_sha256) is"):
        locate.locate(tmp_path, f"{window}/A", f"{window}/B")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("demo", "is no receipt: write"),
        ("a/b/c/d", "is no receipt: write"),
        ("{window}/B7", "has no receipt of arm B7"),
        ("{window}/../A", "is no receipt: write"),
        ("demo/00000000/A", "no window 00000000"),
        ("demo/XYZ/A", "window name"),
        ("{window}/x", "arm name"),
    ],
)
def test_what_is_no_receipt_is_answered_in_a_line(tmp_path: Path, given: str, says: str) -> None:
    window = spoiled(tmp_path)
    with pytest.raises(Exception, match=says) as refused:
        locate.locate(tmp_path, f"{window}/A", given.format(window=window))
    assert "\n" not in str(refused.value)


def test_a_sidecar_that_is_gone_is_named(tmp_path: Path) -> None:
    root, window = played(tmp_path / "c", {"differs": {"B": {"tape": "code", "position": 13}}})
    for sidecar in (root / "receipts" / window).glob("observe-*.json"):
        sidecar.unlink()
    with pytest.raises((NotComparable, NoReceipt)):
        locate.locate(root, f"{window}/A", f"{window}/B")
