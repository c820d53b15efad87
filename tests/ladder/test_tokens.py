"""Tokens a step and ms a token, from receipts with acceptances and from older ones without."""

import json
from pathlib import Path
from typing import Any

import pytest

from ladder import records, report, show, tokens, window
from tests.ladder import windows
from tests.ladder.windows import Parts

CARD = """\
card: 1
question: Is the head shorter without its spin?
parent: reference
profiles:
  cpu:
    change: {head: head/reference}
    workload: {script: made_up, rows: [6]}
    window: {design: turns}
    instrument: script
    gates: [{gate: speed, primary: true, metric: step_us, rows: 6, bar: -100, rule: point}]
"""


def laid(root: Path, built: Parts | None = None) -> str:
    for name in ("rungs", "kernels"):
        (root / name).mkdir()
    (root / "rungs" / "demo.yaml").write_text(CARD)
    return windows.lay(root, built or windows.parts())


def without_acceptance(root: Path, name: str) -> None:
    """Make a window's receipts such as they were before acceptances were kept."""
    for path in (root / "receipts" / "demo" / name).glob("[AB]*.json"):
        value = records.read(path)
        for item in value["observe"]:
            del item["acceptance"]
        path.unlink()
        records.write(path, value)


def test_a_tokens_time_is_the_speed_gates_step_over_the_tokens_that_it_gives(tmp_path: Path) -> None:
    found = window.load(tmp_path, "demo", laid(tmp_path))
    told = {(arms.role, arms.rows): arms for arms in tokens.read(found)}
    assert list(told) == [(role, rows) for rows in (6, 1) for role in ("control", "treatment")]
    assert (told["control", 6].tokens, told["control", 1].tokens) == (4.0, 1.0)
    graded = show.grade(tmp_path, "demo", None, found.name)
    numbers = graded.data["verdicts"][0]["findings"][-1]["numbers"]
    for role, key in (("control", "control"), ("treatment", "candidate")):
        assert told[role, 6].token_ms == pytest.approx(numbers[key] / 1000 / 4, abs=1e-6)


def test_a_verdict_is_told_with_tokens_acceptances_and_experts(tmp_path: Path) -> None:
    shown = show.grade(tmp_path, "demo", None, laid(tmp_path)).text.splitlines()
    of_six = next(line for line in shown if line.startswith("  tokens    6 rows: "))
    assert "control 4.00 a step, 25.0" in of_six and "candidate 4.00 a step, 19.9" in of_six
    assert (
        "  accepted  1.00 1.00 1.00 0.00 - by draft, where all before it were; "
        "96 by the verifier in 32 steps, 128 rows committed"
    ) in shown
    assert "  experts   4.0 a layer and step, 17.6 if each row chose alone (by layer 23 to 23 % of it)" in shown


def test_a_shown_rung_and_a_runs_report_tell_them_too(tmp_path: Path) -> None:
    name = laid(tmp_path)
    start = window.load(tmp_path, "demo", name).start
    for text in (report.report(tmp_path, start).text, show.rung_text(show.rung(tmp_path, "demo"))):
        assert "tokens    6 rows: control 4.00 a step" in text and "96 by the verifier" in text


def test_what_is_told_is_plain_data(tmp_path: Path) -> None:
    name = laid(tmp_path)
    shown: dict[str, Any] = json.loads(json.dumps(show.rung(tmp_path, "demo")))
    told = shown["profiles"][0]["windows"][0]["tokens"]
    assert [(each["role"], each["rows"], each["tokens_a_step"]) for each in told[:2]] == [
        ("control", 6, 4.0),
        ("treatment", 6, 4.0),
    ]
    assert told[0]["acceptance"]["attempts"] == [32, 32, 32, 32, 0]
    assert show.grade(tmp_path, "demo", None, name).data["tokens"] == [told]


def test_a_candidate_that_accepts_otherwise_is_told_apart(tmp_path: Path) -> None:
    built = windows.parts()
    for fill in built["arms"]["B"]["observe"][6]:
        for tape in fill[1]["tapes"]:
            tape["steps"][0]["accepted"] = 5
    shown = show.grade(tmp_path, "demo", None, laid(tmp_path, built)).text
    assert "  accepted  control 1.00 1.00 1.00 0.00 - by draft, where all before it were; 96 by" in shown
    assert "  accepted  candidate 1.00 1.00 1.00 0.25 - by draft, where all before it were; 112 by" in shown


def test_an_older_receipt_without_acceptances_still_counts_and_tells_its_tokens(tmp_path: Path) -> None:
    name = laid(tmp_path)
    without_acceptance(tmp_path, name)
    graded = show.grade(tmp_path, "demo", None, name)
    assert graded.outcome == "PASS"
    assert "tokens    6 rows: control 4.00 a step, 25.0" in graded.text and "accepted" not in graded.text


def test_a_window_that_left_no_receipt_tells_nothing(tmp_path: Path) -> None:
    name = laid(tmp_path)
    for path in (tmp_path / "receipts" / "demo" / name).glob("[AB]*.json"):
        path.unlink()
    assert tokens.of_window(tmp_path, "demo", name) == []
