"""What every gate answers when there is nothing to answer from."""

from typing import Any

import pytest

from gates.judge import GATES, judge
from tests.gates.windows import arm, window

BARS: dict[str, dict[str, Any]] = {
    "bits": {"over": ["logits", "tokens", "state"]},
    "budget": {"peak_mib": 1},
    "drift": {"flips": 0},
    "no_worse": {"metric": "step_us", "rows": 6, "within": 1},
    "soak": {"calls": 2},
    "ulp": {"max_ulp": 0},
    "kernels": {"launches": 0},
    "rows": {},
    "speed": {"metric": "step_us", "rows": 6, "bar": -1, "rule": "point"},
    "tokens": {},
}


@pytest.mark.parametrize("name", GATES)
def test_an_empty_window_is_void_and_never_met(name: str) -> None:
    gate = {"gate": name, **BARS[name]}
    assert judge(gate, window([])).finding == "void"
    assert judge(gate, window([arm(each, []) for each in ("A", "B", "A2")])).finding == "void"


@pytest.mark.parametrize("name", GATES)
def test_a_workload_without_rows_is_void_for_every_gate(name: str) -> None:
    assert judge({"gate": name, **BARS[name]}, window([], workload={})).finding == "void"


@pytest.mark.parametrize("name", ["vibes", "digest", "os", "", None])
def test_a_name_that_is_no_gate_is_void_and_imports_nothing(name: Any) -> None:
    assert judge({"gate": name}, window([])).code == "unknown_gate"
