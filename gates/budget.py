"""Does the candidate stay within what it may cost beside time: boot and memory?"""

from collections.abc import Mapping
from typing import Any

from gates.evidence import Arm, Window
from gates.finding import Finding, Unjudged

COSTS = {
    "boot_s": ("boot_ns", 1e9, "s to boot"),
    "peak_mib": ("peak_bytes", 2.0**20, "MiB at its peak"),
    "more_boot_s": ("boot_ns", 1e9, "s more to boot than the control"),
    "more_peak_mib": ("peak_bytes", 2.0**20, "MiB more at its peak than the control"),
}


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when no process of the candidate costs more than a bar: `boot_s`, `peak_mib`, or `more_` than the control.

    The dearest boot of the candidate counts; for `more_` bars against the dearest of the control. Peak memory is the
    process's whole resident peak, torch included.
    """
    for role in ("treatment", "control"):
        if not window.role(role):
            raise Unjudged("missing_arm", f"no {role} left a receipt")
    numbers = {}
    for name in [name for name in COSTS if name in gate]:
        fact, unit, spoken = COSTS[name]
        cost = max(_of(arm, fact) for arm in window.role("treatment")) / unit
        if name.startswith("more_"):
            cost -= max(_of(arm, fact) for arm in window.role("control")) / unit
        numbers[name] = round(cost, 3)
        if cost > gate[name]:
            return Finding("budget", "unmet", f"{cost:.3g} {spoken}, {gate[name]:g} allowed", numbers)
    says = ", ".join(f"{numbers[name]:.3g} {COSTS[name][2]}" for name in numbers)
    return Finding("budget", "met", says, numbers)


def _of(arm: Arm, fact: str) -> int:
    if not arm.process.get(fact):
        raise Unjudged("missing_pass", f"arm {arm.name} did not tell its {fact}")
    return arm.process[fact]
