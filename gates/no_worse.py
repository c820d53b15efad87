"""Is the candidate no slower than the control by more than a stated margin: shown, and not just left unrefuted?"""

from collections.abc import Mapping
from typing import Any

from gates import speed
from gates.evidence import Window
from gates.finding import Finding, Unjudged
from gates.statistics import t_quantile, trimmed


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when the whole interval of the effect lies at or below `within`, in the metric's unit, on the losing side.

    Unmet when the whole of it lies beyond; void with code `noise` between the two: not finding a difference is no
    proof that there is none. With `by_tape` the same is asked of each tape, at a confidence that Bonferroni divides
    by their number, over the spread of its steps; one tape's loss is not made good by another's gain.
    """
    sign = -1.0 if gate["metric"] == "tok_s" else 1.0
    wall, cpu = speed.effects(gate, window)
    asked = {key: gate[key] for key in ("metric", "rows", "within")}
    numbers = {**speed.numbers(wall, sign), **asked, "second_clock_effect": speed.rounded(sign * cpu.mean)}
    says = f"{gate['metric']} at {gate['rows']} rows: {speed.spoken(wall, sign)}; at most {gate['within']:g} worse"
    answer, second = (_decide(effect.mean, effect.half, gate["within"]) for effect in (wall, cpu))
    if {answer, second} == {"met", "unmet"}:
        return Finding("no_worse", "void", f"{says}; the clocks disagree", numbers, code="clock")
    if gate.get("by_tape") and answer != "unmet":
        tapes = _by_tape(gate, window, sign)
        numbers["by_tape"] = {tape: answer for tape, (answer, _) in tapes.items()}
        for wanted in ("unmet", "void"):
            for tape, (found, told) in tapes.items():
                if found == wanted:
                    return _told(found, f"{says}; tape {tape}: {told}", numbers)
    return _told(answer, says, numbers)


def _told(answer: speed.Answer, says: str, numbers: Mapping[str, Any]) -> Finding:
    if answer == "void":
        return Finding("no_worse", "void", f"{says}; the interval holds both answers", numbers, code="noise")
    return Finding("no_worse", answer, says, numbers)


def _decide(effect: float, half: float, within: float) -> speed.Answer:
    if not all(-1e300 < value < 1e300 for value in (effect, half, within)):  # false for NaN as well
        return "void"
    return "met" if effect + half <= within else "unmet" if effect - half > within else "void"


def _by_tape(gate: Mapping[str, Any], window: Window, sign: float) -> dict[str, tuple[speed.Answer, str]]:
    """Each tape's own answer, and its effect in words."""
    found = speed.by_tape(gate, window)
    if any(len(steps) < 4 for steps in found.values()):
        raise Unjudged("steps_unpaired", "a tape has too few steps to see their spread")
    confidence = 1 - (1 - speed.CONFIDENCE) / len(found)
    answers: dict[str, tuple[speed.Answer, str]] = {}
    for tape, steps in found.items():
        own = trimmed(steps)
        half = own.error * t_quantile(confidence, own.df)
        ends = sorted(sign * (own.mean + side * half) for side in (-1, 1))
        answers[tape] = _decide(own.mean, half, gate["within"]), f"between {ends[0]:+.1f} and {ends[1]:+.1f}"
    return answers
