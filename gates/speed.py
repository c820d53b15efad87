"""Is a step of the candidate shorter than the control's, in the same window, by what the card asks?

The estimate: readings are paired by tape and step; each block (a tape, measured in one turn) gives the 20 % trimmed
mean of its steps' differences, candidate minus control; the effect is the 20 % trimmed mean over blocks. Control is
the mean of its boots, or, for boots in sequence whose times are known, interpolated to the candidate's time.

The interval is the wider of two, each one-sided at 5 %:

- boots: the spread between boots of the same arm, s^2 (1/nA + 1/nB), Student's t with nA + nB - 2 degrees of freedom.
  A window with A, B and A2 has one, so the interval is 5.5 times the difference between A and A2; with B measured in
  a second boot too it has two, which makes it 1.5 times the root of the two
  differences' squares.
- turns: the spread of the blocks' differences, Tukey and McLaughlin's t. It keeps the interval honest where two boots
  agree by luck, and it holds what happened on the machine between neighbouring turns.

What this cannot see: anything that boots of one arm share and the other arm's do not, other than the change (a path's
length, an order of boots); drift that is not straight, with boots in sequence; a disturbance that visits one arm's
turns alone, if it visits fewer than a fifth of the blocks (it is trimmed) or all of them (it looks like the change).
Tapes count as independent blocks; load that outlasts a tape makes the turns' interval too short, and then the boots'
must carry it. One window's own degrees of freedom are all that is claimed: no other window's spread is used.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gates.evidence import Arm, Window
from gates.finding import Finding, Unjudged
from gates.readings import pair
from gates.statistics import t_quantile, trimmed, trimmed_mean

CONFIDENCE = 0.95  # each side
MOST_BOOTS = 64
ROLES = ("control", "treatment")

Answer = Literal["met", "unmet", "void"]
Blocks = Mapping[str, list[list[float]]]


@dataclass(frozen=True)
class Effect:
    """Candidate minus control, in the metric's unit, and the half-width of its interval with both its sources."""

    mean: float
    control: float
    candidate: float
    boots_half: float
    turns_half: float
    boot_spread: float  # s: one boot's standard deviation, from boots of the same arm
    controls: int
    treatments: int
    blocks: int

    @property
    def half(self) -> float:
        """Half-width of the interval: the wider of the two."""
        return max(self.boots_half, self.turns_half)


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when the effect beats the bar by the card's rule; see `decide`.

    The same is asked of the second clock. Where the two contradict each other (one meets the bar and the other surely
    does not, or a gain by the one is none by the other) the gate is void with code `clock`.
    """
    metric, bar, rule = gate["metric"], gate["bar"], gate["rule"]
    sign = -1.0 if metric == "tok_s" else 1.0
    wall, cpu = effects(gate, window)
    answer, second = (decide(rule, effect.mean, effect.half, sign * bar) for effect in (wall, cpu))
    asked = {"metric": metric, "rows": gate["rows"], "bar": bar, "rule": rule}
    found = {**numbers(wall, sign), **asked, "second_clock_effect": rounded(sign * cpu.mean)}
    found["by_tape"] = {tape: rounded(sign * trimmed_mean(steps)) for tape, steps in by_tape(gate, window).items()}
    says = f"{metric} at {gate['rows']} rows: {spoken(wall, sign)}; bar {bar:+g} ({rule})"
    if {answer, second} == {"met", "unmet"} or (answer == "met" and cpu.mean >= 0):
        other = f"CPU time says {rounded(sign * cpu.mean):+g}, the wall clock {rounded(sign * wall.mean):+g}"
        return Finding("speed", "void", f"{says}; {other}", found, code="clock")
    if answer == "void":
        return Finding("speed", "void", f"{says}; {advice(rule, wall, sign * bar)}", found, code="noise")
    return Finding("speed", answer, says, found)


def decide(rule: str, effect: float, half: float, bar: float) -> Answer:
    """The answer for an effect where less is better, and its interval effect -+ half.

    strict  met when the whole interval lies at or below the bar, unmet when the whole of it lies above
    point   met when the effect lies at or below the bar and the whole interval below zero (a gain as measured, and
            surely a gain); unmet when the effect lies above the bar by two half-widths, so that a repeat of the
            window would hardly ever be met. Between the two nobody can tell, and a repeat may say either.

    Void otherwise, and whenever a number is not finite.
    """
    if not all(-1e300 < value < 1e300 for value in (effect, half, bar)):  # false for NaN as well
        return "void"
    low, high = effect - half, effect + half
    if rule == "strict":
        return "met" if high <= bar else "unmet" if low > bar else "void"
    if rule == "point":
        return "met" if effect <= bar and high < 0 else "unmet" if effect - 2 * half > bar else "void"
    return "void"


def effects(gate: Mapping[str, Any], window: Window) -> tuple[Effect, Effect]:
    """The effect by the wall clock and by CPU time, in the gate's metric, negated where more is better."""
    paired = pair(window, gate["rows"])
    sign = -1.0 if gate["metric"] == "tok_s" else 1.0
    clocks = (_in_metric(window, clock, gate, sign) for clock in (paired.wall, paired.cpu))
    wall, cpu = (estimate(blocks, window, gate["rows"]) for blocks in clocks)
    return wall, cpu


def by_tape(gate: Mapping[str, Any], window: Window) -> dict[str, list[float]]:
    """Each tape's step differences by the wall clock, candidate minus control, negated where more is better."""
    paired = pair(window, gate["rows"])
    blocks = _in_metric(window, paired.wall, gate, -1.0 if gate["metric"] == "tok_s" else 1.0)
    controls, treatments = ([arm for arm in window.role(role) if arm.name in blocks] for role in ROLES)
    weights = _weights(window, controls, treatments, gate["rows"])
    control = _mixed(blocks, {arm.name: weight for arm, weight in zip(controls, weights, strict=True)})
    candidate = _mixed(blocks, {arm.name: 1 / len(treatments) for arm in treatments})
    found: dict[str, list[float]] = {}
    for tape, ours, theirs in zip(paired.tapes, control, candidate, strict=True):
        found.setdefault(tape, []).extend(_minus(theirs, ours))
    return found


def estimate(blocks: Blocks, window: Window, rows: int) -> Effect:
    """The effect in a window whose arms left these blocks of readings, aligned across arms."""
    controls = [arm for arm in window.role("control") if arm.name in blocks]
    treatments = [arm for arm in window.role("treatment") if arm.name in blocks]
    if len(controls) < 2 or not treatments:
        names = " ".join(sorted(blocks)) or "none"
        raise Unjudged("missing_arm", f"speed needs two control boots and a candidate's; measured arms: {names}")
    weights = _weights(window, controls, treatments, rows)
    pooled = {arm.name: weight for arm, weight in zip(controls, weights, strict=True)}
    equal = {arm.name: 1 / len(treatments) for arm in treatments}
    control, candidate = _mixed(blocks, pooled), _mixed(blocks, equal)
    differences = [trimmed_mean(_minus(b, a)) for a, b in zip(control, candidate, strict=True)]
    if len(differences) < 3:
        raise Unjudged("steps_unpaired", f"{len(differences)} blocks of steps are too few to see their spread")
    turns = trimmed(differences)
    freedom = len(controls) + len(treatments) - 2
    spread = math.sqrt((_squares(blocks, controls) + _squares(blocks, treatments)) / freedom)
    boots_error = spread * math.sqrt(math.fsum(weight**2 for weight in weights) + 1 / len(treatments))
    return Effect(
        mean=turns.mean,
        control=trimmed_mean([trimmed_mean(steps) for steps in control]),
        candidate=trimmed_mean([trimmed_mean(steps) for steps in candidate]),
        boots_half=boots_error * t_quantile(CONFIDENCE, freedom),
        turns_half=turns.error * t_quantile(CONFIDENCE, turns.df),
        boot_spread=spread,
        controls=len(controls),
        treatments=len(treatments),
        blocks=len(differences),
    )


def advice(rule: str, effect: Effect, bar: float) -> str:
    """How many more boots would make an undecided window decidable, were the effect and the spread as measured."""
    room = _room(rule, effect.mean, bar)
    if effect.turns_half > room:
        needed = (effect.turns_half / room) ** 2 if room > 0 else float("inf")
        much = f"about {needed:.0f} times the tapes" if needed < 100 else "an effect farther from the bar"
        return f"noise: the spread between turns alone hides the answer; it would take {much}, or a quieter machine"
    for controls in range(effect.controls + 1, MOST_BOOTS + 1):
        if _boots_half(effect.boot_spread, controls, effect.treatments) <= room:
            more = controls - effect.controls
            return f"noise: about {more} more control boot{'s' if more > 1 else ''} would decide it"
    for boots in range(effect.treatments + 1, MOST_BOOTS + 1):
        if _boots_half(effect.boot_spread, boots, boots) <= room:
            return f"noise: more control boots alone would not decide it; about {boots} boots of each arm would"
    return f"noise: not even {MOST_BOOTS} boots of each arm would decide it; the effect is too near the bar"


def _room(rule: str, effect: float, bar: float) -> float:
    """The half-width at which an undecided effect is decided."""
    if rule == "strict":
        return abs(effect - bar)
    return -effect if effect <= bar else (effect - bar) / 2


def _boots_half(spread: float, controls: int, treatments: int) -> float:
    error = spread * math.sqrt(1 / controls + 1 / treatments)
    return error * t_quantile(CONFIDENCE, controls + treatments - 2)


def _weights(window: Window, controls: Sequence[Arm], treatments: Sequence[Arm], rows: int) -> list[float]:
    """How much each control boot counts: equal, or interpolated to B's time for two boots around one in sequence."""
    equal = [1 / len(controls)] * len(controls)
    if window.design != "A-B-A2" or (len(controls), len(treatments)) != (2, 1):
        return equal
    first, last, middle = (arm.measure(rows).middle_ns for arm in (*controls, *treatments))
    if first is None or last is None or middle is None or not first < middle < last:
        return equal
    share = (middle - first) / (last - first)
    return [1 - share, share]


def _in_metric(window: Window, clock: Mapping[str, list[list[int]]], gate: Mapping[str, Any], sign: float) -> Blocks:
    """Each step's reading in the metric's unit, negated where more is better."""
    found = {}
    for name, blocks in clock.items():
        item = window.arm(name).observe(gate["rows"])[0] if gate["metric"] != "step_us" else None
        tokens = item.emitted / item.steps if item and item.steps else 0.0  # a step, from the observe pass
        if item and not tokens > 0:
            raise Unjudged("missing_pass", f"arm {name} emitted no token at {gate['rows']} rows")
        found[name] = [[_step(gate["metric"], ns / 1000, tokens, sign) for ns in steps] for steps in blocks]
    return found


def _step(metric: str, step_us: float, tokens: float, sign: float) -> float:
    if metric == "step_us":
        return step_us
    if metric == "token_us":
        return step_us / tokens
    return sign * 1e6 * tokens / max(step_us, 1e-3)  # tok_s; a coarse second clock may stand still for a step


def _mixed(blocks: Blocks, weights: Mapping[str, float]) -> list[list[float]]:
    """The weighted mean over arms, step by step."""
    arms = [blocks[name] for name in weights]
    shares = list(weights.values())
    return [
        [sum(share * value for share, value in zip(shares, step, strict=True)) for step in zip(*block, strict=True)]
        for block in zip(*arms, strict=True)
    ]


def _minus(b: Sequence[float], a: Sequence[float]) -> list[float]:
    return [x - y for x, y in zip(b, a, strict=True)]


def _squares(blocks: Blocks, arms: Sequence[Arm]) -> float:
    """Sum of squared distances of an arm's boots from their mean, each as the effect itself is estimated."""
    if len(arms) < 2:
        return 0.0
    mean = _mixed(blocks, {arm.name: 1 / len(arms) for arm in arms})
    return sum(_distance(blocks[arm.name], mean) ** 2 for arm in arms)


def _distance(boot: list[list[float]], mean: list[list[float]]) -> float:
    return trimmed_mean([trimmed_mean(_minus(b, a)) for a, b in zip(mean, boot, strict=True)])


def numbers(effect: Effect, sign: float) -> dict[str, Any]:
    """An effect as a verdict holds it, in the metric's own direction."""
    ends = sorted(sign * (effect.mean + side * effect.half) for side in (-1, 1))
    return {
        "effect": rounded(sign * effect.mean),
        "low": rounded(ends[0]),
        "high": rounded(ends[1]),
        "control": rounded(sign * effect.control),
        "candidate": rounded(sign * effect.candidate),
        "ratio": round(effect.candidate / effect.control, 4) if effect.control else None,
        "boots_half": rounded(effect.boots_half),
        "turns_half": rounded(effect.turns_half),
        "boot_spread": rounded(effect.boot_spread),
        "boots": [effect.controls, effect.treatments],
        "blocks": effect.blocks,
    }


def spoken(effect: Effect, sign: float) -> str:
    """An effect in words, in the metric's own direction."""
    found = numbers(effect, sign)
    interval = f"between {found['low']:+g} and {found['high']:+g}"
    ratio = "" if found["ratio"] is None else f", {found['ratio']:g} of it"
    return f"{found['effect']:+g} ({interval}) on a control of {found['control']:g}{ratio}"


def rounded(value: float) -> float:
    """To a thousandth: a last bit that differs between C libraries must not change a record."""
    return round(value, 3) + 0.0
