"""Gates that cannot tell a good output from a bad one are found before any window is spent."""

from typing import Any

import pytest

from gates import trial

WORKLOAD = {"rows": [6, 1], "observe": {"tapes": 8, "new_tokens": 16}}


def vacuous(*gates: dict[str, Any], instrument: str = "wall") -> Any:
    return trial.vacuous({"gates": list(gates), "workload": WORKLOAD, "instrument": instrument})


@pytest.mark.parametrize(
    "gate",
    [
        {"gate": "bits", "over": ["logits"]},
        {"gate": "bits", "over": ["tokens"]},
        {"gate": "bits", "over": ["state"], "replay": True, "relaunch": True, "fills": True, "repeat": 8},
        {"gate": "tokens"},
        {"gate": "tokens", "near_tie_ulp": 1024},
        {"gate": "ulp", "max_ulp": 0},
        {"gate": "ulp", "max_ulp": 64, "share_ppm": 10},
        {"gate": "drift", "max_dlogprob": 0.05},
        {"gate": "drift", "mean_kl": 1e-4},
        {"gate": "drift", "flips": 2},
    ],
    ids=str,
)
def test_a_gate_that_tells_them_apart_is_trusted(gate: dict[str, Any]) -> None:
    assert vacuous(gate) is None


@pytest.mark.parametrize(
    ("gate", "lets"),
    [
        ({"gate": "ulp", "max_ulp": 20_000}, "zeros through in bf16"),
        ({"gate": "ulp", "max_ulp": 2**32 - 1}, "zeros through"),
        ({"gate": "drift", "max_dlogprob": 50}, "zeros through"),
        ({"gate": "drift", "mean_kl": 10}, "zeros through"),
        ({"gate": "drift", "flips": 128}, "zeros through"),
    ],
    ids=str,
)
def test_a_gate_that_zeros_pass_is_vacuous(gate: dict[str, Any], lets: str) -> None:
    found = vacuous({"gate": "tokens"}, gate)
    assert found.index == 1 and lets in found.says


def test_a_tolerance_above_the_whole_output_lets_zeros_through() -> None:
    """Outputs of at most 1e-3 against a bar that any of them meets: the gate of a softmax row held to 1e-2."""
    assert "zeros" in vacuous({"gate": "ulp", "max_ulp": 0x3A83}).says  # 1e-3 in bf16 is 0x3A83 steps above zero


@pytest.mark.parametrize("fault", range(3))
def test_each_fault_alone_would_be_let_through_by_a_gate_that_misses_it(fault: int, monkeypatch: Any) -> None:
    """Negative control: a gate made blind to one fault is found out by that fault."""
    spoiled = list(trial._spoiled(trial._outputs(6)))[fault]
    blind = {trial._hex(spoiled), trial._hex(trial._outputs(6))}

    def judge(gate: Any, window: Any) -> Any:
        names = {name.split()[1] for name in window.sidecars}
        from gates.finding import Finding

        return Finding("bits", "met" if names <= blind else "unmet", "")

    monkeypatch.setattr(trial, "judge", judge)
    assert trial.FAULTS[fault] in str(trial._failing({"gate": "bits", "over": ["logits"]}, WORKLOAD))


def test_a_card_whose_gates_see_no_values_is_refused() -> None:
    speed = {"gate": "speed", "primary": True, "metric": "step_us", "rows": 6, "bar": -1, "rule": "point"}
    assert vacuous(speed, {"gate": "kernels", "launches": 0}).index is None
    assert vacuous(speed, {"gate": "kernels", "launches": 0}, instrument="script") is None
