"""What the candidate may cost beside time."""

from typing import Any

import pytest

from gates.judge import judge
from tests.gates.windows import arm, window


def finding(**gate: Any) -> Any:
    told = {"A": (4.0, 300), "A2": (5.0, 310), "B": (4.5, 400), "B2": (6.0, 390)}
    arms = [
        arm(name, [], process={"boot_ns": round(boot_s * 1e9), "peak_bytes": mib << 20})
        for name, (boot_s, mib) in told.items()
    ]
    return judge({"gate": "budget", **gate}, window(arms))


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ({"boot_s": 6}, "met"),
        ({"boot_s": 5.9}, "unmet"),
        ({"peak_mib": 400}, "met"),
        ({"peak_mib": 399}, "unmet"),
        ({"more_boot_s": 1}, "met"),
        ({"more_boot_s": 0.9}, "unmet"),
        ({"more_peak_mib": 90}, "met"),
        ({"more_peak_mib": 89}, "unmet"),
        ({"boot_s": 60, "peak_mib": 399}, "unmet"),
    ],
)
def test_the_dearest_process_counts(gate: dict[str, Any], expected: str) -> None:
    assert finding(**gate).finding == expected


def test_a_process_that_did_not_tell_is_void() -> None:
    arms = [arm("A", []), arm("A2", []), arm("B", [], process={"boot_ns": 1})]
    assert judge({"gate": "budget", "peak_mib": 1}, window(arms)).code == "missing_pass"
