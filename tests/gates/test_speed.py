"""What the speed gate answers, and how often it is wrong on machines whose truth is known."""

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gates import speed
from gates.evidence import Measured
from gates.finding import Finding, Unjudged
from gates.judge import judge
from gates.speed import advice, decide, estimate
from tests.gates import windows
from tests.gates.windows import Machine

GATE = {"gate": "speed", "metric": "step_us", "rows": 6, "bar": -10000, "rule": "point"}
CONTROL_MS = 100.0
NAN, INF = float("nan"), float("inf")


def flat(ms: float, tapes: int = 8, steps: int = 6) -> list[list[int]]:
    """Tapes of steps around a level, each a little unlike the next."""
    return [[round(ms * 1e6) + 1000 * ((7 * tape + 3 * at) % 11) for at in range(steps)] for tape in range(tapes)]


def found(a: float, b: float, a2: float, **gate: Any) -> Finding:
    return judge(GATE | gate, windows.timed({"A": flat(a), "B": flat(b), "A2": flat(a2)}))


# --- single windows -------------------------------------------------------------------------------------------------


def test_a_gain_beyond_the_bar_is_met_and_told_with_its_interval() -> None:
    finding = found(100, 80, 100.4)
    assert finding.finding == "met"
    assert finding.numbers["effect"] == pytest.approx(-20200, abs=1)
    assert finding.numbers["low"] < finding.numbers["effect"] < finding.numbers["high"] < 0
    assert finding.says.startswith("step_us at 6 rows: -20200 (between ")


@pytest.mark.parametrize(
    ("a", "b", "a2", "rule", "answer"),
    [
        (100, 80, 100.4, "strict", "met"),
        (100, 89, 100.4, "strict", "void"),  # -11.2 +- 2.2 crosses the bar
        (100, 89, 100.4, "point", "met"),  # and yet is surely a gain
        (100, 99, 100.4, "strict", "unmet"),
        (100, 99, 100.4, "point", "unmet"),
        (100, 91, 100.4, "point", "void"),  # short of the bar, by less than a repeat may differ
        (100, 80, 108.0, "point", "void"),  # controls 8 ms apart hide a gain of 24
        (100, 130, 100.4, "point", "unmet"),
    ],
)
def test_the_rule_decides(a: float, b: float, a2: float, rule: str, answer: str) -> None:
    assert found(a, b, a2, rule=rule).finding == answer


def test_two_controls_that_agree_by_luck_do_not_make_an_interval_of_nothing() -> None:
    wild = [[round(1e6 * (80 + 15 * ((5 * tape) % 8 - 3.5)))] * 6 for tape in range(8)]
    finding = judge(GATE, windows.timed({"A": flat(100), "B": wild, "A2": flat(100)}))
    assert finding.numbers["boots_half"] == 0
    assert (finding.finding, finding.code) == ("void", "noise")


def test_a_candidate_measured_in_two_boots_gives_a_narrower_interval() -> None:
    boots = {"A": flat(100), "B": flat(80), "A2": flat(106)}
    once = judge(GATE, windows.timed(boots))
    twice = judge(GATE, windows.timed(boots | {"B2": flat(80.5)}))
    assert (once.finding, twice.finding) == ("void", "met")
    assert twice.numbers["boots"] == [2, 2]


def test_one_interrupted_step_a_tape_moves_nothing() -> None:
    calm = flat(80)
    disturbed = [[*steps[:-1], steps[-1] + 10**9] for steps in calm]
    plain, shaken = (judge(GATE, windows.timed({"A": flat(100), "B": b, "A2": flat(100.4)})) for b in (calm, disturbed))
    assert shaken.finding == "met"
    assert shaken.numbers["effect"] == pytest.approx(plain.numbers["effect"], abs=10)


@pytest.mark.parametrize(
    ("metric", "bar", "b", "answer"),
    [
        ("token_us", -5000, 80, "met"),  # two tokens a step: half of 20 ms
        ("token_us", -15000, 80, "unmet"),
        ("tok_s", 4, 80, "met"),  # from 20 to 25 tokens a second
        ("tok_s", 9, 80, "unmet"),
        ("tok_s", 4, 100, "unmet"),
        ("tok_s", 4, 130, "unmet"),
    ],
)
def test_other_metrics_are_judged_in_their_own_direction(metric: str, bar: float, b: float, answer: str) -> None:
    assert found(100, b, 100.1, metric=metric, bar=bar).finding == answer


def test_tokens_a_second_are_told_as_a_gain() -> None:
    numbers = found(100, 80, 100.1, metric="tok_s", bar=4).numbers
    assert 0 < numbers["low"] < numbers["effect"] < numbers["high"]
    assert numbers["control"] == pytest.approx(20, abs=0.1)


@pytest.mark.parametrize(("tapes", "steps"), [(1, 32), (3, 12), (8, 1), (8, 3)])
def test_fewer_tapes_are_cut_into_runs_of_steps(tapes: int, steps: int) -> None:
    arms = {name: flat(ms, tapes, steps) for name, ms in (("A", 100), ("B", 80), ("A2", 100.4))}
    assert judge(GATE, windows.timed(arms)).finding == "met"


@pytest.mark.parametrize(
    ("arms", "code"), [("AB", "missing_arm"), (("A", "A2"), "missing_arm"), (("B",), "missing_arm")]
)
def test_without_two_controls_and_a_candidate_nothing_is_judged(arms: Any, code: str) -> None:
    finding = judge(GATE, windows.timed({name: flat(100) for name in arms}))
    assert (finding.finding, finding.code) == ("void", code)


@pytest.mark.parametrize(
    ("design", "times", "weights"),
    [
        ("A-B-A2", (0, 25, 100), [0.75, 0.25]),
        ("A-B-A2", (0, None, 100), [0.5, 0.5]),
        ("A-B-A2", (0, 125, 100), [0.5, 0.5]),
        ("turns", (0, 25, 100), [0.5, 0.5]),
    ],
)
def test_boots_in_sequence_are_interpolated_to_the_candidates_time(
    design: str, times: tuple[int | None, ...], weights: list[float]
) -> None:
    a, b, a2 = (
        windows.arm(name, [], measured=(Measured(6, 10, name, False, False, middle_ns),))
        for name, middle_ns in zip(("A", "B", "A2"), times, strict=True)
    )
    window = replace(windows.window([a, b, a2]), design=design)
    assert speed._weights(window, [a, a2], [b], 6) == weights


def test_straight_drift_between_boots_in_sequence_cancels() -> None:
    drifting = {"A": flat(100), "B": flat(100.5), "A2": flat(101)}
    assert judge(GATE, windows.timed(drifting)).numbers["effect"] == pytest.approx(0, abs=1e-6)


# --- the second clock -----------------------------------------------------------------------------------------------


def clocked(wall_b: float, cpu_b: float, **gate: Any) -> Finding:
    wall = {"A": flat(100), "B": flat(wall_b), "A2": flat(100.2)}
    cpu = {"A": flat(99), "B": flat(cpu_b), "A2": flat(99.2)}
    return judge(GATE | gate, windows.timed(wall, cpu))


def test_a_gain_that_the_second_clock_does_not_see_is_undecided() -> None:
    assert (clocked(80, 80).finding, clocked(80, 79).finding) == ("met", "met")
    finding = clocked(80, 99.5)
    assert (finding.finding, finding.code) == ("void", "clock")


def test_a_gain_that_only_the_second_clock_sees_is_undecided() -> None:
    finding = clocked(100, 70)
    assert (finding.finding, finding.code) == ("void", "clock")


def test_a_busy_machine_may_keep_a_step_waiting_for_long() -> None:
    busy = {"A": flat(300), "B": flat(240), "A2": flat(301)}
    cpu = {"A": flat(100), "B": flat(80), "A2": flat(100.4)}
    assert judge(GATE, windows.timed(busy, cpu)).finding == "met"


@pytest.mark.parametrize(
    ("cpu_ms", "threads", "sound"), [(124, 1, True), (130, 1, False), (190, 2, True), (260, 2, False)]
)
def test_cpu_time_beyond_what_the_threads_can_use_is_work_elsewhere(cpu_ms: float, threads: int, sound: bool) -> None:
    steps = {name: flat(100) for name in ("A", "B", "A2")}
    window = windows.timed(steps, steps | {"B": flat(cpu_ms)})
    object.__setattr__(window.arms["B"], "threads", threads)
    assert (judge(GATE, window).code == "clocks_apart") is not sound


# --- the rule by itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["point", "strict", "vibes"])
@pytest.mark.parametrize("bar", [-10.0, 10.0])
@pytest.mark.parametrize("numbers", [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (-INF, 1.0), (-99.0, INF), (NAN, NAN)])
def test_what_is_no_number_is_never_an_answer(rule: str, bar: float, numbers: tuple[float, float]) -> None:
    assert decide(rule, *numbers, bar) == "void"


@pytest.mark.parametrize("bar", [NAN, INF, -INF])
def test_a_bar_that_is_no_number_is_never_an_answer(bar: float) -> None:
    assert {decide(rule, -5.0, 1.0, bar) for rule in ("point", "strict")} == {"void"}


@pytest.mark.parametrize(
    ("rule", "effect", "half", "answer"),
    [
        ("strict", -11, 1, "met"),
        ("strict", -10.5, 1, "void"),
        ("strict", -9.5, 1, "void"),
        ("strict", -8.9, 1, "unmet"),
        ("point", -10, 9.9, "met"),
        ("point", -10, 10, "void"),
        ("point", -9, 1, "void"),
        ("point", -8, 1, "void"),
        ("point", -7.9, 1, "unmet"),
        ("point", 0, 1, "unmet"),
        ("point", -100, 101, "void"),
    ],
)
def test_both_rules_at_their_edges(rule: str, effect: float, half: float, answer: str) -> None:
    assert decide(rule, effect, half, -10) == answer


def test_an_undecided_window_says_what_it_would_take() -> None:
    window = windows.window([windows.arm(name, [], {6: name}) for name in ("A", "B", "A2")])
    blocks = {name: [[1000.0 * ms]] * 8 for name, ms in (("A", 100), ("B", 95), ("A2", 106))}
    effect = estimate(blocks, window, 6)
    assert "more control boot" in advice("point", effect, -4000.0)
    assert "boots of each arm" in advice("point", effect, -20000.0)


# --- machines whose truth is known ----------------------------------------------------------------------------------


def outcomes(
    effect_ms: float,
    bar_ms: float,
    rule: str,
    *,
    boots: tuple[str, ...] = ("A", "B", "A2"),
    runs: int = 600,
    **machine: Any,
) -> Counter[str]:
    """How often each answer is given over windows of a machine where the candidate truly differs by `effect_ms`."""
    window = windows.window([windows.arm(name, [], {6: name}) for name in boots])
    answers: Counter[str] = Counter()
    for seed in range(runs):
        draw = Machine(seed, **machine)
        steps = {name: draw.boot(CONTROL_MS + (effect_ms if name.startswith("B") else 0)) for name in boots}
        effect = estimate(steps, window, 6)
        answers[decide(rule, effect.mean, effect.half, 1000 * bar_ms)] += 1
    return answers


MACHINES = {
    "boots apart": {"boot_ms": 1.0, "turn_ms": 0.05},
    "turns apart": {"boot_ms": 0.0, "turn_ms": 3.0},
    "both": {"boot_ms": 1.0, "turn_ms": 3.0},
    "busy": {"boot_ms": 0.5, "turn_ms": 1.0, "busy_share": 0.2, "busy_ms": 40.0},
}
EITHER = [("A", "B", "A2"), ("A", "B", "A2", "B2")]
ALLOWED = 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5  # 5 %, and three standard errors of 600 windows


@pytest.mark.parametrize("boots", EITHER, ids=["one pair", "two pairs"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_no_effect_seldom_looks_like_a_sure_gain(machine: dict[str, float], boots: tuple[str, ...]) -> None:
    assert outcomes(0, -0.001, "point", boots=boots, **machine)["met"] <= 600 * ALLOWED


@pytest.mark.parametrize("boots", EITHER, ids=["one pair", "two pairs"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_an_effect_at_the_bar_seldom_looks_surely_on_either_side(
    machine: dict[str, float], boots: tuple[str, ...]
) -> None:
    answers = outcomes(-5, -5, "strict", boots=boots, **machine)
    assert max(answers["met"], answers["unmet"]) <= 600 * ALLOWED


@pytest.mark.parametrize("rule", ["point", "strict"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_no_truth_makes_both_pass_and_fail_likely(machine: dict[str, float], rule: str) -> None:
    for effect_ms in (0, -1, -2, -3, -4, -5, -6, -7):
        answers = outcomes(effect_ms, -5, rule, runs=100, **machine)
        assert min(answers["met"], answers["unmet"]) <= 100 * (0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5)


def test_a_gain_of_20_ms_is_seen_ten_times_of_ten_when_the_candidate_too_boots_twice() -> None:
    for boot_ms, turn_ms in itertools.product((0.5, 1.0, 1.5), (1.0, 3.0)):
        answers = outcomes(-20, -10, "point", boots=EITHER[1], boot_ms=boot_ms, turn_ms=turn_ms)
        assert answers["met"] >= 599


def test_a_gain_of_20_ms_is_seen_with_one_pair_where_boots_agree_to_half_a_percent() -> None:
    assert outcomes(-20, -10, "point", boot_ms=0.5, turn_ms=1.0)["met"] >= 595
    assert outcomes(-20, -10, "point", boot_ms=1.5, turn_ms=1.0)["met"] < 580  # and its power ends soon after


def test_comparing_pooled_steps_would_have_failed_these_tests() -> None:
    """The negative control: an interval from turns alone calls boots that differ by chance a gain."""
    window = windows.window([windows.arm(name, [], {6: name}) for name in EITHER[0]])
    wrong = 0
    for seed in range(300):
        draw = Machine(seed, **MACHINES["boots apart"])
        effect = estimate({name: draw.boot(CONTROL_MS) for name in EITHER[0]}, window, 6)
        wrong += decide("point", effect.mean, effect.turns_half, -1.0) == "met"
    assert wrong > 300 * 0.3


def test_too_few_blocks_are_not_judged() -> None:
    window = windows.window([windows.arm(name, [], {6: name}) for name in EITHER[0]])
    with pytest.raises(Unjudged, match="too few"):
        estimate({name: [[1.0], [2.0]] for name in EITHER[0]}, window, 6)
