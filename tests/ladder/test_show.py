"""Listings and the account of one rung, with and without windows."""

import json
from pathlib import Path
from typing import Any

import pytest

from ladder import listing, progress, records, run, show, verdict
from ladder.errors import LadderError, LinkedFolder
from tests.ladder import checkouts

ROOT = Path(__file__).parent.parent.parent
VERDICT = {
    "outcome": "FAIL",
    "rung": "a",
    "profile": "cpu",
    "window": "0123abcd",
    "findings": [{"gate": "speed", "primary": True, "finding": "unmet", "says": "+20 ms", "code": None, "numbers": {}}],
    "reasons": [{"code": "slower", "says": "the candidate is slower"}],
}


def a_checkout(root: Path, **cards: str) -> Path:
    for name in ("rungs", "kernels"):
        (root / name).mkdir()
    for rung, text in cards.items():
        (root / "rungs" / f"{rung}.yaml").write_text(text)
    return root


CARD = """\
card: 1
question: Faster?
parent: reference
profiles:
  cpu:
    change: {head: head/torch_slow}
    workload: {script: made_up, rows: [6]}
    window: {design: turns}
    instrument: script
    gates: [{gate: speed, primary: true, metric: step_us, rows: 6, bar: -100, rule: point}]
"""


def a_window(
    root: Path, at: str, outcome: str | None = None, exploratory: tuple[str, ...] = (), profile: str = "cpu"
) -> str:
    """A window of rung `a` opened at `at`, graded when an outcome is given; returns its name."""
    meaning = {"choices": {"control": {}, "candidate": {}}, "gates": [{"gate": "speed"}], "instrument": "script"}
    start: dict[str, Any] = {"record": "start", "format": 1, "prev": [], "at": at, "rung": "a", "profile": profile}
    start |= {
        "meaning": {**meaning, "window": {}, "workload": {}},
        "arms": {},
        "box": {},
        "commit": None,
        "dirty": True,
    }
    start |= {"exploratory": list(exploratory), "registration": None, "design": "turns", "instrument": "script"}
    opened = records.write_start(root / "receipts" / "a", {**start, "seeds_sha256": "0" * 64})
    if outcome:
        graded = {**VERDICT, "record": "verdict", "format": 1, "prev": [opened.sha256], "at": at, "outcome": outcome}
        graded |= {"window": opened.d8, "start": opened.sha256, "registration": None, "receipts": {}, "scorer": "1"}
        records.write_named(opened.path.parent, graded)
    return opened.d8


def test_windows_are_told_oldest_first_with_their_outcomes(tmp_path: Path) -> None:
    root = a_checkout(tmp_path, a=CARD)
    later = a_window(root, "2026-12-01T09:00:00Z", "PASS")
    first = a_window(root, "2026-12-01T08:00:00Z", exploratory=("the card is not committed",))
    told = show.rung_text(show.rung(root, "a"))
    assert told.index(f"{first}  2026-12-01T08:00:00Z  ungraded  exploratory: the card") < told.index(f"{later}  2026")
    assert "cpu: PASS (1 of 1" in told
    assert listing.rows(root)[0]["profiles"]["cpu"].startswith("PASS (1 of 1")


def test_a_card_that_asks_something_else_by_now_is_told_apart_from_what_stands(tmp_path: Path) -> None:
    root = checkouts.make(tmp_path / "checkout")
    run.run(root, "demo", "cpu", progress=progress.Silent())
    assert listing.rows(root)[0]["profiles"]["cpu"].endswith("script: not a measurement)")
    checkouts.write_card(root, bar=-5000)
    assert listing.rows(root)[0]["profiles"]["cpu"].endswith("; card changed since")
    assert "note       the card has changed since window" in show.rung_text(show.rung(root, "demo"))


def test_a_linked_window_is_refused_and_not_followed(tmp_path: Path) -> None:
    root = a_checkout(tmp_path, a=CARD)
    name = a_window(root, "2026-12-01T09:00:00Z", "PASS")
    (root / "receipts" / "a" / name).rename(tmp_path / "elsewhere")
    (root / "receipts" / "a" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LinkedFolder):
        listing.rows(root)


def test_a_record_that_was_edited_into_nonsense_is_told_in_its_rungs_row(tmp_path: Path) -> None:
    root = a_checkout(tmp_path, a=CARD)
    (root / "receipts" / "a" / a_window(root, "2026-12-01T09:00:00Z") / "start.json").write_text("{")
    assert "start.json: not whole JSON" in listing.text(listing.rows(root))


def test_a_rung_run_under_two_profiles_is_graded_one_at_a_time(tmp_path: Path) -> None:
    root = a_checkout(tmp_path, a=CARD)
    a_window(root, "2026-12-01T08:00:00Z")
    a_window(root, "2026-12-01T09:00:00Z", profile="h200")
    with pytest.raises(LadderError, match="under cpu, h200, each with its own standing: give --profile"):
        show.grade(root, "a", None, None)


def test_several_windows_are_answered_by_where_the_rung_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = a_checkout(tmp_path, a=CARD)
    names = [a_window(root, f"2026-12-01T0{hour}:00:00Z", outcome) for hour, outcome in [(8, "PASS"), (9, "FAIL")]]
    outcomes = dict(zip(names, ["PASS", "FAIL"], strict=True))
    monkeypatch.setattr(
        verdict, "grade", lambda root, rung, name: ({**VERDICT, "window": name, "outcome": outcomes[name]}, root)
    )
    assert show.grade(root, "a", None, names[1]).outcome == "FAIL"
    together = show.grade(root, "a", None, None)
    assert together.outcome == "INCONCLUSIVE"
    assert "contested, 1 of 2 passed" in together.text


def test_a_verdict_is_told_with_its_findings_and_reasons() -> None:
    assert show.verdict_text(VERDICT).splitlines() == [
        "FAIL  a (cpu)  window 0123abcd",
        "  unmet     speed (primary): +20 ms",
        "  because   slower: the candidate is slower",
    ]


def test_parents_are_listed_before_their_children() -> None:
    rungs = [row["rung"] for row in listing.rows(ROOT)]
    assert rungs.index("t9b-2") < rungs.index("t9b-3") < rungs.index("t9b-4")
    assert rungs.index("demo-slow") < rungs.index("demo-gain")


def test_a_card_that_cannot_be_read_is_listed_with_its_mistake(tmp_path: Path) -> None:
    root = a_checkout(tmp_path, a="card: 1\ncard: 2\n")
    shown = listing.text(listing.rows(root))
    assert "rungs/a.yaml:2: card: the key is on line 1 too" in shown


def test_an_empty_ladder_says_so(tmp_path: Path) -> None:
    assert listing.text(listing.rows(a_checkout(tmp_path))) == "no cards in rungs/"


def test_a_rung_is_shown_with_its_change_and_its_gates() -> None:
    told = show.rung_text(show.rung(ROOT, "t9b-3"))
    assert "attn_mix: hyper_mix/torch_folded" in told
    assert "speed (primary): metric step_us, rows 6, bar" in told


def test_what_is_shown_is_plain_data() -> None:
    shown: dict[str, Any] = show.rung(ROOT, "t9b-4")
    assert json.loads(json.dumps(shown))["rung"] == "t9b-4"


def test_a_rung_that_was_never_run_has_nothing_to_grade(tmp_path: Path) -> None:
    with pytest.raises(LadderError, match="`ladder run a` opens one"):
        show.grade(a_checkout(tmp_path), "a", None, None)
