"""Where a rung stands under a profile, over every window that was ever opened for it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder import records
from ladder.records import Record

NOT_RUN = "not run"
SEVERITY = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 2, "INVALID": 3}
SOUND = frozenset({"PASS", "FAIL", "INCONCLUSIVE"})


@dataclass(frozen=True)
class Attempt:
    """One window: what came of it, and whether the candidate was read before it ended.

    Without any receipt of the candidate nobody knows, as after a killed run: then it counts as read.
    """

    window: str
    at: str
    outcome: str | None
    codes: tuple[str, ...]
    was_read: bool
    speed: Mapping[str, Any] | None
    is_scripted: bool = False

    @property
    def is_decided(self) -> bool:
        """PASS or FAIL."""
        return self.outcome in {"PASS", "FAIL"}


@dataclass(frozen=True)
class Standing:
    """PASS when every sound window passed, FAIL when every decided one failed, else INCONCLUSIVE.

    A window that was too noisy contests a PASS: else running again until luck decides would make one. It does not
    contest a FAIL.
    """

    rung: str
    profile: str
    outcome: str
    says: str
    attempts: tuple[Attempt, ...]


def standing(root: Path, rung: str, profile: str) -> Standing:
    """The standing of one rung under one profile, from the records on disk."""
    found = {(each.rung, each.profile): each for each in standings(records.scan(root))}
    return found.get((rung, profile)) or Standing(rung, profile, NOT_RUN, NOT_RUN, ())


def standings(found: Iterable[Record]) -> list[Standing]:
    """Every rung and profile that a window was opened for, by name; the records are all there are.

    A window that lies in two folders, or in another one than its own, is one window.
    """
    by_folder: dict[tuple[str, Path], list[Record]] = {}
    starts: dict[str, Record] = {}
    for record in found:
        if record.kind == "start":
            known = starts.get(record.sha256)
            starts[record.sha256] = record if known is None or is_at_home(record) else known
        elif record.kind in {"receipt", "verdict"}:
            by_folder.setdefault((record.value["start"], record.path.parent), []).append(record)
    grouped: dict[tuple[str, str], list[Attempt]] = {}
    for start in starts.values():
        key = start.value["rung"], start.value["profile"]
        grouped.setdefault(key, []).append(_attempt(start, by_folder.get((start.sha256, start.path.parent), [])))
    return [_stand(rung, profile, attempts) for (rung, profile), attempts in sorted(grouped.items())]


def is_at_home(start: Record) -> bool:
    """Whether a start lies in its own window's folder, under its own rung."""
    return (start.path.parent.name, start.path.parent.parent.name) == (start.d8, start.value["rung"])


def current(left: Iterable[Record]) -> Record | None:
    """The verdict that counts among what a window left.

    One over the receipts that lie there now, by the latest scorer; of two such, the worse: records that were changed
    after a verdict can only take from it.
    """
    left = list(left)
    receipts = {each.value["arm"]: each.sha256 for each in left if each.kind == "receipt"}

    def rank(record: Record) -> tuple[bool, tuple[int, ...], int, int, str]:
        value = record.value
        version = tuple(int(part) if part.isdigit() else 0 for part in value["scorer"].split("."))
        fits = value["receipts"] == receipts
        return fits, version, len(value["receipts"]), SEVERITY[value["outcome"]], record.sha256

    return max((each for each in left if each.kind == "verdict"), key=rank, default=None)


def _attempt(start: Record, left: list[Record]) -> Attempt:
    verdict = current(left)
    candidates = [each.value for each in left if each.kind == "receipt" and each.value["role"] == "treatment"]
    findings = verdict.value["findings"] if verdict else []
    speed = next((each["numbers"] for each in findings if each["gate"] == "speed" and each["numbers"]), None)
    return Attempt(
        window=start.d8,
        at=start.value["at"],
        outcome=verdict.value["outcome"] if verdict else None,
        codes=tuple(dict.fromkeys(each["code"] for each in verdict.value["reasons"])) if verdict else ("ungraded",),
        was_read=not candidates or any(each["measure"] for each in candidates),
        speed=speed,
        is_scripted=start.value["instrument"] == "script",
    )


def _stand(rung: str, profile: str, attempts: list[Attempt]) -> Standing:
    decided = [each for each in attempts if each.is_decided]
    passed = sum(each.outcome == "PASS" for each in decided)
    if not decided:
        outcome = "INCONCLUSIVE" if any(each.was_read for each in attempts) else "INVALID"
        head = "no window decided it"
    elif passed in (0, len(decided)):
        outcome = "PASS" if passed else "FAIL"
        head = f"{len(decided)} of {len(decided)}"
    else:
        outcome, head = "INCONCLUSIVE", f"contested, {passed} of {len(decided)} passed"
    tried = [each for each in attempts if each.outcome in SOUND]
    if outcome == "PASS" and len(tried) > passed:
        outcome, head = "INCONCLUSIVE", f"contested, {passed} of {len(tried)} sound windows passed"
    says = head + _rest(attempts) + _effect(attempts) + _scripted(attempts)
    return Standing(rung, profile, outcome, says, tuple(attempts))


def _scripted(attempts: list[Attempt]) -> str:
    played = sum(each.is_scripted for each in attempts)
    if not played:
        return ""
    return "; script: not a measurement" if played == len(attempts) else f"; {played} scripted: not measurements"


def _rest(attempts: list[Attempt]) -> str:
    undecided = [each for each in attempts if not each.is_decided and each.was_read]
    early = [each for each in attempts if not each.is_decided and not each.was_read]
    shown = f"; {len(undecided)} undecided ({_codes(undecided)})" if undecided else ""
    return shown + (f"; {len(early)} ended before the candidate was read" if early else "")


def _codes(attempts: list[Attempt]) -> str:
    counts: dict[str, int] = {}
    for code in (code for each in attempts for code in each.codes):
        counts[code] = counts.get(code, 0) + 1
    return ", ".join(f"{code} {count}" if count > 1 else code for code, count in sorted(counts.items()))


def _effect(attempts: list[Attempt]) -> str:
    """The replicates' effects together, weighed by inverse variance, in the gate's metric."""
    sound = [each.speed for each in attempts if each.speed and each.outcome in SOUND]
    if len(sound) < 2 or len({(each["metric"], each["rows"]) for each in sound}) > 1:
        return ""
    mean, half = combine([(each["effect"], (each["high"] - each["low"]) / 2) for each in sound])
    return f"; {sound[0]['metric']} {mean:+.1f} +- {half:.1f} over {len(sound)} windows"


def combine(effects: list[tuple[float, float]]) -> tuple[float, float]:
    """Effect and half-width of several windows' effects and half-widths.

    Weights are inverse squared half-widths. Windows farther apart than their own intervals explain widen the result
    by Birge's ratio, so that a second window in disagreement never makes the answer look surer.
    """
    weights = [1 / max(half, 1e-9) ** 2 for _, half in effects]
    total = math.fsum(weights)
    mean = math.fsum(weight * effect for weight, (effect, _) in zip(weights, effects, strict=True)) / total
    apart = math.fsum(weight * (effect - mean) ** 2 for weight, (effect, _) in zip(weights, effects, strict=True))
    ratio = math.sqrt(max(1.0, apart / (len(effects) - 1))) if len(effects) > 1 else 1.0
    return mean, ratio / math.sqrt(total)
