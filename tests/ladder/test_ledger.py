"""The ledger is rendered from the records, and names whatever does not agree with them."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ladder import ledger, records, verdict
from tests.ladder import checkouts, windows

RUNG = "demo"


def laid(root: Path, **start: Any) -> Path:
    """The folder of a sound window that nobody has graded yet."""
    built = windows.parts()
    built["start"] = start
    return root / "receipts" / RUNG / windows.lay(root, built)


def kept(root: Path) -> Path:
    """The folder of a window that was graded, with its ledger rendered."""
    folder = laid(root)
    verdict.grade(root, RUNG, folder.name)
    rendered(root)
    return folder


def rendered(root: Path) -> str:
    text = ledger.render(root)
    (root / ledger.NAME).write_text(text, encoding="utf-8")
    return text


def one(folder: Path, pattern: str) -> Path:
    return next(iter(sorted(folder.glob(pattern))))


def named(problems: list[str], *words: str) -> bool:
    return any(all(word in problem for word in words) for problem in problems)


def test_records_that_agree_with_their_ledger_have_no_problem(tmp_path: Path) -> None:
    kept(tmp_path)
    assert ledger.check(tmp_path) == []


def test_a_checkout_without_records_needs_no_ledger(tmp_path: Path) -> None:
    assert ledger.check(tmp_path) == []


def test_rendering_again_gives_the_same_bytes(tmp_path: Path) -> None:
    kept(tmp_path)
    assert ledger.render(tmp_path) == ledger.render(tmp_path)


def test_the_ledger_states_count_heads_standing_and_every_record_oldest_first(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    text = ledger.render(tmp_path)
    (head,) = records.heads(tmp_path)
    assert f"7 records; heads: {head}" in text and "| demo | cpu | PASS | 1 of 1 |" in text
    rows = [line.split(" | ")[4:6] for line in text.splitlines() if line.startswith("| 2026")]
    kinds = ["registration", "start", "receipt A", "receipt A2", "receipt B", "receipt B2", "verdict"]
    assert [row[0] for row in rows] == kinds
    assert rows[1][1] == folder.name


def test_text_of_a_record_cannot_break_out_of_its_row(tmp_path: Path) -> None:
    evil = "a | b\n# Forged\n<script>[x](y)`"
    laid(tmp_path, exploratory=[evil], registration=None)
    text = ledger.render(tmp_path)
    assert "# Forged" not in text.splitlines() and "\\| b" in text and "<script" not in text.replace("\\<", "")


@pytest.mark.parametrize("name", ["A.json", "start.json", "registration", "verdict"])
def test_an_edited_record_is_named(tmp_path: Path, name: str) -> None:
    folder = kept(tmp_path)
    path = one(folder.parent if name == "registration" else folder, f"{name}*")
    value = json.loads(path.read_text())
    path.write_bytes(records.encode({**value, "at": "2026-12-02T07:20:00Z"}))
    assert named(ledger.check(tmp_path), path.name) or named(ledger.check(tmp_path), "missing or edited")


def test_an_edited_receipt_is_told_by_the_verdict_that_saw_it(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    path = folder / "B.json"
    path.write_bytes(records.encode({**records.read(path), "note": "faster"}))
    rendered(tmp_path)
    assert named(ledger.check(tmp_path), "verdict-", "receipt B", "missing or edited")


def test_an_edited_verdict_is_told_by_its_name_and_by_grading_again(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    path = one(folder, "verdict-*")
    path.write_bytes(records.encode({**records.read(path), "outcome": "FAIL"}))
    rendered(tmp_path)
    problems = ledger.check(tmp_path)
    assert named(problems, path.name, "edited or renamed")
    assert named(problems, path.name, "does not follow from its receipts: they give PASS, it says FAIL")


def test_a_forged_verdict_with_a_right_name_does_not_follow_from_its_receipts(tmp_path: Path) -> None:
    folder = tmp_path / "receipts" / RUNG / windows.lay(tmp_path, windows.parts(candidate_ns=120_000_000))
    found, path = verdict.grade(tmp_path, RUNG, folder.name)
    path.unlink()
    records.write_named(folder, {**found, "outcome": "PASS", "reasons": []})
    rendered(tmp_path)
    assert named(ledger.check(tmp_path), "they give FAIL, it says PASS")


def test_an_edited_and_a_cut_sidecar_are_named(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    edited, cut = one(folder, "observe-*"), one(folder, "readings-*")
    edited.write_bytes(edited.read_bytes().replace(b'"accepted":0', b'"accepted":1'))
    edited.write_bytes(edited.read_bytes() + b" ")
    cut.write_bytes(cut.read_bytes()[:-20])
    problems = ledger.check(tmp_path)
    assert named(problems, edited.name, "edited or cut short") and named(problems, cut.name, "edited or cut short")


def test_a_missing_sidecar_and_a_missing_record_are_named(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    gone = one(folder, "sites-*")
    gone.unlink()
    (folder / "A2.json").unlink()
    problems = ledger.check(tmp_path)
    assert named(problems, gone.name, "is missing") and named(problems, "receipt A2", "missing or edited")


def test_a_record_cut_short_is_named(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    path = folder / "A.json"
    path.write_bytes(path.read_bytes()[:100])
    assert named(ledger.check(tmp_path), "A.json", "not whole JSON")


def test_extra_files_are_named(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    (folder / "observe-00000000.json").write_text("{}\n")
    (folder / "notes.txt").write_text("hello")
    (folder.parent / "old").mkdir()
    problems = ledger.check(tmp_path)
    assert named(problems, "observe-00000000.json", "no receipt names it") and named(problems, "notes.txt")
    assert named(problems, "demo/old", "no start.json")


def test_a_renamed_record_and_a_renamed_window_are_named(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    one(folder.parent, "registration-*").rename(folder.parent / "registration-00000000.json")
    folder.rename(folder.parent / "00000000")
    problems = ledger.check(tmp_path)
    assert named(problems, "registration-00000000.json", "edited or renamed")
    assert named(problems, "00000000/start.json", folder.name)


def test_a_window_copied_into_another_rung_is_named(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    shutil.copytree(folder, tmp_path / "receipts" / "r2" / folder.name)
    assert named(ledger.check(tmp_path), "receipts/r2", "does not belong here")


def test_an_unknown_record_in_prev_is_named(tmp_path: Path) -> None:
    windows.lay(tmp_path, windows.parts(), prev=["ab" * 32])
    rendered(tmp_path)
    assert named(ledger.check(tmp_path), "registration-", "abababab", "missing or edited")


def test_a_committed_record_that_is_gone_is_named_though_the_ledger_was_rendered_without_it(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    checkouts.git(tmp_path, "init", "-q")
    checkouts.commit_all(tmp_path)
    assert ledger.check(tmp_path) == []
    shutil.rmtree(folder.parent)
    rendered(tmp_path)
    assert named(ledger.check(tmp_path), f"{folder.name}/start.json", "is committed, and is gone")


def test_a_ledger_that_was_typed_in_or_lost_is_named(tmp_path: Path) -> None:
    kept(tmp_path)
    path = tmp_path / ledger.NAME
    path.write_text(path.read_text().replace("PASS", "FAIL"))
    assert named(ledger.check(tmp_path), "LEDGER.md", "out of date")
    path.unlink()
    assert named(ledger.check(tmp_path), "LEDGER.md", "is missing")


def test_a_verdict_over_fewer_receipts_stays_true_when_the_rest_arrives(tmp_path: Path) -> None:
    folder = laid(tmp_path)
    (folder / "B2.json").rename(tmp_path / "B2.json")
    early, _ = verdict.grade(tmp_path, RUNG, folder.name)
    (tmp_path / "B2.json").rename(folder / "B2.json")
    verdict.grade(tmp_path, RUNG, folder.name)
    rendered(tmp_path)
    assert early["outcome"] == "INVALID" and ledger.check(tmp_path) == []


def test_grading_and_checking_load_nothing_heavy_and_take_less_than_a_second(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    code = (
        "import sys, pathlib; from ladder import ledger, verdict\n"
        f"root = pathlib.Path({str(tmp_path)!r}); verdict.grade(root, 'demo', {folder.name!r})\n"
        "assert ledger.check(root) == []\n"
        "assert not {'torch', 'numpy', 'jsonschema'} & set(sys.modules)"
    )
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
    assert time.perf_counter() - begun < 3  # a second alone; a busy machine is given three
