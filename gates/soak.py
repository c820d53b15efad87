"""Does a kernel ever give other bits, over very many calls on the same input, in two processes?"""

from collections.abc import Mapping
from typing import Any

from gates.bits import rate_says
from gates.evidence import Arm, Window
from gates.finding import Finding, Unjudged


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when each changed site gave the same bytes at every one of `calls` calls, in B and in its relaunch.

    The input is one that the first step of the first tape brings, at the first layer that has the site; every call's
    output buffer is poisoned first. No unlike call among N bounds the rate of such calls by 3/N at 95 %; a call that
    depends on its input, or on what runs beside it, is not seen.
    """
    arms = window.role("treatment")
    if len(arms) < 2:
        raise Unjudged("missing_arm", "a soak is made in two processes of the candidate")
    numbers: dict[str, Any] = {"calls": gate["calls"], "processes": len(arms)}
    for site in window.changed:
        told = {arm.name: _of(arm, site, gate["calls"]) for arm in arms}
        for name, each in told.items():
            if each["differing"]:
                says = f"site {site}, arm {name}: {rate_says(each['differing'], each['calls'])}, the first at call"
                return Finding("soak", "unmet", f"{says} {each['first']}", {**numbers, "site": site, **each})
        if len({each["output"] for each in told.values()}) > 1:
            says = f"site {site}: {' and '.join(told)} give unlike bytes for the same input"
            return Finding("soak", "unmet", says, {**numbers, "site": site})
        if len({each["input"] for each in told.values()}) > 1:
            raise Unjudged("arms_differ", f"site {site}: the processes soaked it in unlike inputs")
    says = f"{rate_says(0, gate['calls'] * len(arms))} at {', '.join(window.changed)}"
    return Finding("soak", "met", says, numbers)


def _of(arm: Arm, site: str, calls: int) -> Mapping[str, Any]:
    found = arm.soak.get(site)
    if found is None or found["calls"] < calls:
        had = found["calls"] if found else 0
        raise Unjudged("missing_pass", f"arm {arm.name} called site {site} {had} times; the gate asks for {calls}")
    return found
