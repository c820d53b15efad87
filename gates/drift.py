"""How far have the candidate's distributions moved, over tokens that every arm is fed alike?"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gates.evidence import Arm, Window
from gates.finding import Finding, Unjudged

NANO = 1e9
BARS = {"max_dlogprob": "nats between logprobs", "mean_kl": "nats of KL on average", "flips": "top tokens changed"}


@dataclass(frozen=True)
class Moved:
    """What moved over all positions: nats, nats, and a count."""

    max_dlogprob: float
    mean_kl: float | None
    flips: int
    positions: int
    where: str

    def number(self, name: str) -> float | None:
        """The number that a bar of this name is held against."""
        value: float | None = getattr(self, name)
        return value


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when no bar is passed against any configuration in `against`: `parent`, and `reference` at the bottom.

    max_dlogprob  largest |log p(candidate) - log p(other)| of the forced tokens, in nats
    mean_kl       mean over positions of KL(other || candidate), whole vocabulary, in nats
    flips         positions whose most probable token is another one

    Tokens are forced, so one near-tie does not make two texts of one. The floor is the control's own A against A2: a
    bar beneath it cannot be judged. Sees kept rows alone, on the tapes that were observed.
    """
    bars = {name: gate[name] for name in BARS if name in gate}
    floor = _floor(window)
    numbers: dict[str, Any] = {"bars": bars, "floor": _plain(floor)}
    for name, bar in bars.items():
        least = floor.number(name)
        if least is None:
            raise Unjudged("controls_apart", "A and A2 differ, and no KL between two processes was recorded")
        if math.isnan(least):
            raise Unjudged("bad_reading", f"the control's own logprobs are no numbers ({floor.where})")
        if least > bar:
            says = f"{name}: the control's own spread is {least:.3g} ({floor.where}), above the bar of {bar:g}"
            return Finding("drift", "void", says, numbers, code="noise")
    for other in gate.get("against", ["parent", "reference"]):
        moved = _against(window, other)
        numbers[other] = _plain(moved)
        for name, bar in bars.items():
            value = moved.number(name)
            if value is None or not value <= bar:  # NaN meets no bar
                said = "not a number" if value is None or math.isnan(value) else f"{value:.3g}"
                says = f"{name} against {other} is {said}, bar {bar:g} ({moved.where})"
                return Finding("drift", "unmet", says, {**numbers, "moved": name})
    return Finding("drift", "met", _met(numbers), numbers)


def _met(numbers: Mapping[str, Any]) -> str:
    against = [f"{other}: {_spoken(numbers[other])}" for other in ("parent", "reference") if other in numbers]
    return "; ".join(against)


def _spoken(moved: Mapping[str, Any]) -> str:
    kl = "not recorded" if moved["mean_kl"] is None else f"{moved['mean_kl']:.3g}"
    where = f"{moved['flips']} of {moved['positions']} top tokens flipped"
    return f"|dlogprob| at most {moved['max_dlogprob']:.3g}, mean KL {kl}, {where}"


def _plain(moved: Moved) -> dict[str, Any]:
    kl = None if moved.mean_kl is None else round(moved.mean_kl, 12)
    dlogprob = None if math.isnan(moved.max_dlogprob) else round(moved.max_dlogprob, 9)
    return {"max_dlogprob": dlogprob, "mean_kl": kl, "flips": moved.flips, "positions": moved.positions}


def _floor(window: Window) -> Moved:
    """A against A2: zero throughout where all digests are equal."""
    first, second = (_tapes(window, window.arm(arm)) for arm in ("A", "A2"))
    moved = _moved(first, second, kl=None)
    is_same = all(a["logits"] == b["logits"] for a, b in zip(first, second, strict=True))
    return Moved(moved.max_dlogprob, 0.0 if is_same else None, moved.flips, moved.positions, moved.where)


def _against(window: Window, other: str) -> Moved:
    """The candidate against a configuration that its own process ran on the same forced tokens."""
    own = _tapes(window, window.arm("B"))
    if any(other not in tape["against"] for tape in own):
        raise Unjudged("missing_pass", f"arm B was not run against {other} on forced tokens")
    theirs = [{**tape, **tape["against"][other]} for tape in own]
    if other == "parent":
        _is_the_control(window, theirs)
    return _moved(theirs, own, kl=[tape["against"][other]["kl_nano"] for tape in own])


def _is_the_control(window: Window, theirs: Sequence[Mapping[str, Any]]) -> None:
    """The control inside B's process is the control of arm A, bit for bit, or B has not left it alone."""
    for ours, inside in zip(_tapes(window, window.arm("A")), theirs, strict=True):
        if ours["logits"] != inside["logits"]:
            says = f"the control run inside arm B gives other logits than arm A, tape {ours['tape']}"
            raise Unjudged("controls_apart", says)


def _tapes(window: Window, arm: Arm) -> list[Mapping[str, Any]]:
    if arm.forced is None:
        raise Unjudged("missing_pass", f"arm {arm.name} was not run on forced tokens")
    found = list(window.sidecar(arm.forced)["tapes"])
    lead = window.arm("A")
    if lead.forced is not None and _fed(found) != _fed(window.sidecar(lead.forced)["tapes"]):
        raise Unjudged("tapes_differ", f"arm {arm.name} was fed other tokens than arm A")
    if not any(tape["token"] for tape in found):
        raise Unjudged("missing_pass", f"arm {arm.name} was fed no token")
    return found


def _fed(tapes: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[int]]]:
    return [(tape["tape"], tape["token"]) for tape in tapes]


def _moved(control: Sequence[Mapping[str, Any]], candidate: Sequence[Mapping[str, Any]], kl: Any) -> Moved:
    gaps = list(_gaps(control, candidate))
    worst, where = max(gaps, key=lambda gap: math.inf if math.isnan(gap[0]) else gap[0])
    flips = sum(
        a != b
        for ours, theirs in zip(control, candidate, strict=True)
        for a, b in zip(ours["top"], theirs["top"], strict=True)
    )
    return Moved(worst, _mean(kl), flips, len(gaps), where)


def _gaps(control: Sequence[Mapping[str, Any]], candidate: Sequence[Mapping[str, Any]]) -> Iterator[tuple[float, str]]:
    """Nats between the logprobs of each forced token; NaN where one of them is no number."""
    for ours, theirs in zip(control, candidate, strict=True):
        pairs = zip(ours["logprob_nano"], theirs["logprob_nano"], strict=True)
        for index, (a, b) in enumerate(pairs):
            gap = math.nan if a is None or b is None else abs(a - b) / NANO
            yield gap, f"worst at tape {ours['tape']}, token {index}"


def _mean(kl: Sequence[Sequence[int | None]] | None) -> float | None:
    values = [value for tape in kl or [] for value in tape]
    if not values or any(value is None for value in values):
        return None
    return math.fsum(value for value in values if value is not None) / NANO / len(values)
