"""How many kernels does a step launch, against the control?"""

from collections.abc import Mapping
from typing import Any

from gates.evidence import Window
from gates.finding import Finding, Unjudged


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when the candidate launches at most `launches` more kernels a step than the control (negative: fewer).

    Counts calls of bound kernels in the observe pass at the workload's largest row count. Says nothing about what a
    kernel launches inside itself, and nothing about time.
    """
    rows = window.rows[0]
    control, again, candidate = (_per_step(window, arm, rows) for arm in ("A", "A2", "B"))
    if control != again:
        raise Unjudged("controls_apart", f"A launches {control:.2f} kernels a step, A2 {again:.2f}, {rows} rows")
    more = candidate - control
    numbers = {"rows": rows, "control": round(control, 3), "candidate": round(candidate, 3), "bar": gate["launches"]}
    says = f"{candidate:.2f} launches a step against {control:.2f} ({more:+.2f}; bar {gate['launches']:+}), {rows} rows"
    return Finding("kernels", "met" if more <= gate["launches"] else "unmet", says, numbers)


def _per_step(window: Window, arm: str, rows: int) -> float:
    item = window.arm(arm).observe(rows)[0]
    if item.steps <= 0 or item.launches <= 0:
        raise Unjudged("missing_pass", f"arm {arm} counted no launches at {rows} rows")
    return item.launches / item.steps
