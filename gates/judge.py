"""From a gate's name to its file: the file system is the registry."""

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from gates.evidence import Window
from gates.finding import Finding, Unjudged

GATES = ("bits", "budget", "drift", "kernels", "no_worse", "rows", "soak", "speed", "tokens", "ulp")


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """The finding of one of a card's gates; void, with its reason, where the evidence cannot carry one."""
    name = gate["gate"]
    if name not in GATES:
        return Finding(str(name), "void", f"this scorer has no gate {name!r}", code="unknown_gate")
    try:
        finding: Finding = importlib.import_module(f"gates.{name}").judge(gate, window)
    except Unjudged as reason:
        return Finding(name, "void", reason.says, code=reason.code)
    return finding
