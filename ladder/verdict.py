"""A verdict: the findings of a card's gates over one window's records, and the outcome that follows.

Pure: made of the start, its registration, the receipts and their sidecars, and of nothing else. Grading again, here or
on another machine, years later, gives the same bytes; whether git proves the order of things is `ladder/order.py`'s.
"""

from pathlib import Path
from typing import Any

from gates.finding import Finding
from gates.judge import judge as ask
from ladder import records, soundness, window
from ladder.soundness import Reason
from ladder.window import Found

SCORER = "1"
EXIT = {"PASS": 0, "FAIL": 2, "INCONCLUSIVE": 3, "INVALID": 4}
SCRIPTED = "script: not a measurement"


def grade(root: Path, rung: str, name: str) -> tuple[dict[str, Any], Path]:
    """Grade a window and write the verdict beside its receipts; grading it again finds the same file."""
    found = window.load(root, rung, name)
    verdict = judge(found)
    return verdict, records.write_named(found.folder, verdict).path


def judge(found: Found) -> dict[str, Any]:
    """The verdict on a window, as the record that `grade` writes."""
    start = found.start.value
    evidence = found.evidence
    findings = [(gate, ask(gate, evidence)) for gate in start["meaning"]["gates"]]
    outcome, reasons = settle(soundness.reasons(found), [finding for _, finding in findings])
    receipts = {arm: record.sha256 for arm, record in found.receipts.items()}
    verdict = {
        "record": "verdict",
        "format": 1,
        "prev": sorted([found.start.sha256, *receipts.values()]),
        "at": start["at"],
        "scorer": SCORER,
        "rung": start["rung"],
        "profile": start["profile"],
        "window": found.name,
        "start": found.start.sha256,
        "registration": start["registration"],
        "receipts": receipts,
        "outcome": outcome,
        "reasons": [reason.as_json() for reason in reasons],
        "findings": [_plain(finding, bool(gate.get("primary"))) for gate, finding in findings],
    }
    return {**verdict, "note": SCRIPTED} if start["instrument"] == "script" else verdict


def settle(unsound: list[Reason], findings: list[Finding]) -> tuple[str, list[Reason]]:
    """The outcome, with every reason for it; none for a PASS.

    INVALID when the evidence is unsound or a gate could not be judged; else FAIL when a gate is unmet; else
    INCONCLUSIVE when a gate is undecided for want of precision; else PASS, for which every gate is met.
    """
    void = [Reason(each.code or "void", f"{each.gate}: {each.says}") for each in _of(findings, "void", undecided=False)]
    unmet = [Reason(each.gate, each.says) for each in _of(findings, "unmet", undecided=False)]
    undecided = [Reason(each.code or "noise", f"{each.gate}: {each.says}") for each in findings if each.is_undecided]
    known = {(reason.code, reason.says) for reason in unsound}
    void = [each for each in void if (each.code, each.says.partition(": ")[2]) not in known]
    if unsound or void:
        return "INVALID", unsound + void
    if unmet:
        return "FAIL", unmet
    if undecided:
        return "INCONCLUSIVE", undecided
    if findings and all(each.finding == "met" for each in findings):
        return "PASS", []
    return "INVALID", [Reason("no_gate", "no gate was asked, so nothing can pass")]


def _of(findings: list[Finding], answer: str, *, undecided: bool) -> list[Finding]:
    return [each for each in findings if each.finding == answer and each.is_undecided is undecided]


def _plain(finding: Finding, primary: bool) -> dict[str, Any]:
    return {
        "gate": finding.gate,
        "primary": primary,
        "finding": finding.finding,
        "code": finding.code,
        "says": finding.says,
        "numbers": dict(finding.numbers),
    }
