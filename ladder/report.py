"""The end of a run: its verdict, the ledger rendered anew, and what both say, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder import card, ledger, show, standing, tokens, verdict
from ladder.records import Record


@dataclass(frozen=True)
class Outcome:
    """What a window came to."""

    outcome: str
    text: str
    verdict: Mapping[str, Any]
    standing: str
    receipts: str
    tokens: Sequence[Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The verdict with the rung's standing, the folder of its records, and what its tokens took."""
        return {
            "verdict": dict(self.verdict),
            "standing": self.standing,
            "receipts": self.receipts,
            "tokens": list(self.tokens),
        }


def report(root: Path, start: Record) -> Outcome:
    """Grade the window, render LEDGER.md, and say how things stand."""
    rung, profile = start.value["rung"], start.value["profile"]
    graded, path = verdict.grade(root, rung, start.d8)
    stands = standing.standing(root, rung, profile)
    unrendered = _rendered(root)
    folder = path.parent.relative_to(root).as_posix()
    counted = tokens.of_window(root, rung, start.d8)
    lines = [
        show.verdict_text(graded),
        *_speed(graded, start.value["meaning"]["gates"]),
        *tokens.lines(counted),
        f"  records   {folder}/ ({path.name})",
    ]
    lines += [f"  ledger    {unrendered}"] if unrendered else []
    lines += [f"  parent    {says}" for says in _parent(root, start)]
    lines.append(f"  standing  {rung} ({profile}): {stands.outcome}, {stands.says}")
    return Outcome(graded["outcome"], "\n".join(lines), graded, stands.outcome, folder, counted)


def _rendered(root: Path) -> str | None:
    """Render the ledger; what to say if it cannot be: the window stands without it."""
    try:
        render(root)
    except OSError as error:
        return f"not rendered ({error.strerror}): make {ledger.NAME} writable, then `ladder ledger`"
    return None


def _parent(root: Path, start: Record) -> Iterator[str]:
    """Where the rung that the control runs stands, if not at PASS: what is gained on it may be gained on sand."""
    parent = start.value["meaning"].get("parent", card.BASE)
    if parent != card.BASE:
        stands = standing.standing(root, parent, start.value["profile"])
        if stands.outcome != "PASS":
            yield f"{parent} ({start.value['profile']}), which the control runs: {stands.outcome}"


def render(root: Path) -> None:
    """LEDGER.md as the records have it now, replaced whole."""
    path = root / ledger.NAME
    half = path.with_name(f".{path.name}.half")
    try:
        half.write_text(ledger.render(root), encoding="utf-8")
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _speed(graded: Mapping[str, Any], gates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The measured difference in ms, with its interval."""
    for gate, finding in zip(gates, graded["findings"], strict=True):
        numbers = finding["numbers"]
        if gate.get("metric") != "step_us" or "effect" not in numbers:
            continue
        effect, low, high, was = (numbers[key] / 1000 for key in ("effect", "low", "high", "control"))
        yield (
            f"  step      {gate['rows']} rows: {effect:+.3f} ms ({low:+.3f} to {high:+.3f}), step by step, "
            f"on a control of {was:.3f} ms"
        )
