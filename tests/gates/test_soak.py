"""A site soaked in one input, and a step repeated."""

from typing import Any

import pytest

from gates import bits
from gates.judge import judge
from tests.gates.windows import arm, observe, observed, step, window

ALIKE = {"calls": 1000, "differing": 0, "first": None, "input": "i", "output": "o"}


def soaked(b: dict[str, Any], b2: dict[str, Any], calls: int = 1000) -> Any:
    arms = [arm("A", []), arm("B", [], soak={"head": {**ALIKE, **b}}), arm("B2", [], soak={"head": {**ALIKE, **b2}})]
    return judge({"gate": "soak", "calls": calls}, window(arms))


@pytest.mark.parametrize(
    ("b", "b2", "expected"),
    [
        ({}, {}, "met"),
        ({"differing": 1, "first": 917}, {}, "unmet"),
        ({}, {"differing": 1, "first": 3}, "unmet"),
        ({}, {"output": "x"}, "unmet"),
        ({}, {"input": "x"}, "void"),
        ({"calls": 999}, {}, "void"),
    ],
)
def test_one_unlike_call_in_either_process_is_unmet(b: dict[str, Any], b2: dict[str, Any], expected: str) -> None:
    assert soaked(b, b2).finding == expected


def test_the_bound_is_three_over_all_calls() -> None:
    assert "0 of 2000 calls differ, so fewer than 0.0015 of all" in soaked({}, {}).says


def repeated(repeat: dict[str, Any] | None, relaunch: str = "o") -> Any:
    sidecars = {"o": observe(1, [step(0)]), "x": observe(1, [step(0, logits=["f" * 16])])}
    arms = [arm(name, [observed(1, "o")]) for name in ("A", "A2")]
    arms += [arm("B", [observed(1, "o")], repeat=repeat), arm("B2", [observed(1, relaunch)])]
    gate = {"gate": "bits", "over": ["logits"], "repeat": 32, "relaunch": True}
    return judge(gate, window(arms, sidecars, workload={"rows": [1]}))


def test_a_step_that_repeats_itself_is_met_with_its_bound() -> None:
    assert "0 of 32 calls differ, so fewer than 0.094" in repeated({"calls": 32, "differing": 0, "first": None}).says


def test_one_unlike_repeat_in_32_is_unmet() -> None:
    found = repeated({"calls": 32, "differing": 1, "first": 20})
    assert found.finding == "unmet" and "1 of 32 calls differ, the first at call 20" in found.says


def test_a_boot_with_bits_of_its_own_repeats_them_and_fails_the_relaunch() -> None:
    found = repeated({"calls": 32, "differing": 0, "first": None}, relaunch="x")
    assert found.finding == "unmet" and "B and its relaunch B2 differ" in found.says


def test_too_few_repeats_are_void() -> None:
    assert repeated(None).code == repeated({"calls": 31, "differing": 0, "first": None}).code == "missing_pass"


def test_three_over_n_bounds_a_rate_that_shows_nothing_at_95_percent() -> None:
    """The rule of three, against the exact binomial: (1 - 3/N)^N is at most 5 %."""
    for calls in (8, 32, 1000, 100_000):
        assert (1 - min(1.0, 3 / calls)) ** calls <= 0.05
        assert f"{min(1.0, 3 / calls):.2g}" in bits.rate_says(0, calls)
