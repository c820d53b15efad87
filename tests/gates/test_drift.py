"""The drift gate, against an exact computation from the distributions themselves."""

import math
import random
from typing import Any

import pytest

from gates.judge import judge
from tests.gates.windows import arm, window

VOCABULARY = 12
POSITIONS = 20


def logits(seed: int, drift: float = 0.0, base: int = 1) -> list[list[float]]:
    """Rows of logits; `drift` moves each by a seeded amount of that size."""
    draw, moved = random.Random(base), random.Random(seed)
    return [[draw.gauss(0, 2) + drift * moved.uniform(-1, 1) for _ in range(VOCABULARY)] for _ in range(POSITIONS)]


def logprobs(row: list[float]) -> list[float]:
    most = max(row)
    total = most + math.log(sum(math.exp(value - most) for value in row))
    return [value - total for value in row]


TOKENS = [row.index(max(row)) for row in logits(0)]


def said(rows: list[list[float]]) -> dict[str, Any]:
    picked = [round(1e9 * logprobs(row)[token]) for row, token in zip(rows, TOKENS, strict=True)]
    return {"logprob_nano": picked, "top": [row.index(max(row)) for row in rows], "logits": [repr(row) for row in rows]}


def kl(p: list[float], q: list[float]) -> float:
    a, b = logprobs(p), logprobs(q)
    return sum(math.exp(x) * (x - y) for x, y in zip(a, b, strict=True))


def forced(rows: list[list[float]], **against: list[list[float]]) -> dict[str, Any]:
    others = {
        name: {**said(other), "kl_nano": [round(1e9 * kl(p, q)) for p, q in zip(other, rows, strict=True)]}
        for name, other in against.items()
    }
    return {"kind": "forced", "tapes": [{"tape": "prose", "token": TOKENS, **said(rows), "against": others}]}


def finding(candidate: list[list[float]], *, again: Any = None, reference: Any = None, **gate: Any) -> Any:
    control = logits(0)
    sidecars = {
        "A": forced(control),
        "A2": forced(again or control),
        "B": forced(candidate, parent=control, reference=reference or control),
    }
    return judge({"gate": "drift", **gate}, window([arm(name, [], forced=name) for name in sidecars], sidecars))


def test_the_numbers_are_those_of_the_distributions() -> None:
    control, candidate = logits(0), logits(5, 0.3)
    numbers = finding(candidate, max_dlogprob=9).numbers["parent"]
    gaps = [
        abs(logprobs(a)[token] - logprobs(b)[token]) for a, b, token in zip(control, candidate, TOKENS, strict=True)
    ]
    mean = sum(kl(a, b) for a, b in zip(control, candidate, strict=True)) / POSITIONS
    assert numbers["max_dlogprob"] == pytest.approx(max(gaps), abs=2e-9)
    assert numbers["mean_kl"] == pytest.approx(mean, abs=2e-9)
    flips = sum(a.index(max(a)) != b.index(max(b)) for a, b in zip(control, candidate, strict=True))
    assert numbers["flips"] == flips
    assert numbers["positions"] == POSITIONS


@pytest.mark.parametrize("bar", ["max_dlogprob", "mean_kl", "flips"])
def test_each_bar_parts_what_lies_on_either_side_of_it(bar: str) -> None:
    value = finding(logits(5, 0.9), max_dlogprob=99).numbers["parent"][bar]
    assert value > 0
    assert finding(logits(5, 0.9), **{bar: value * 1.01}).finding == "met"
    assert finding(logits(5, 0.9), **{bar: value * 0.99}).finding == "unmet"


def test_the_control_itself_has_not_drifted() -> None:
    assert finding(logits(0), max_dlogprob=0, mean_kl=0, flips=0).finding == "met"


def test_ulps_that_pile_up_over_rungs_show_against_the_reference() -> None:
    near = finding(logits(5, 0.001), reference=logits(6, 1.0), max_dlogprob=0.1)
    assert near.finding == "unmet" and "against reference" in near.says
    assert finding(logits(5, 0.001), reference=logits(6, 1.0), max_dlogprob=0.1, against=["parent"]).finding == "met"


def test_a_bar_beneath_the_controls_own_spread_is_void() -> None:
    void = finding(logits(0), again=logits(7, 0.5), max_dlogprob=0.01)
    assert (void.finding, void.code) == ("void", "noise")
    assert finding(logits(0), again=logits(7, 0.5), max_dlogprob=9).finding == "met"
    assert finding(logits(0), again=logits(7, 0.5), mean_kl=9).code == "controls_apart"


def test_a_logprob_that_is_no_number_meets_no_bar() -> None:
    control = logits(0)
    spoiled = forced(control, parent=control, reference=control)
    spoiled["tapes"][0]["logprob_nano"][3] = None
    sidecars = {"A": forced(control), "A2": forced(control), "B": spoiled}
    arms = [arm(name, [], forced=name) for name in sidecars]
    found = judge({"gate": "drift", "max_dlogprob": 99}, window(arms, sidecars))
    assert found.finding == "unmet" and "not a number" in found.says and "token 3" in found.says


def test_a_control_that_the_candidates_process_has_changed_is_void() -> None:
    control = logits(0)
    sidecars = {"A": forced(control), "A2": forced(control)}
    sidecars["B"] = forced(control, parent=logits(9, 0.5), reference=control)
    found = judge({"gate": "drift", "flips": 9}, window([arm(name, [], forced=name) for name in sidecars], sidecars))
    assert (found.finding, found.code) == ("void", "controls_apart")


def test_other_tokens_cannot_be_compared() -> None:
    control = logits(0)
    sidecars = {"A": forced(control), "A2": forced(control), "B": forced(control, parent=control, reference=control)}
    sidecars["B"]["tapes"][0]["token"] = [0] * POSITIONS
    found = judge({"gate": "drift", "flips": 9}, window([arm(name, [], forced=name) for name in sidecars], sidecars))
    assert found.code == "tapes_differ"
