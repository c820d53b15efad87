"""How many last places is each output of the candidate from the control's, on the same live inputs?"""

from collections.abc import Mapping
from typing import Any

from gates import difference
from gates.evidence import Window
from gates.finding import Finding, Unjudged


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when no element of any changed site lies more than `max_ulp` from the control's, in the output's own dtype.

    `share_ppm` bounds, beside that, how many elements in a million may have other bits at all. Shape and dtype come
    first: an output of another shape or dtype is unmet before a value is compared. +0 and -0 are 0 ulp apart and
    count as unlike bits; an infinity is at no distance from a number, nor NaN from anything but its own bits, and
    then no `max_ulp` is met. Whole numbers have no ulp: an unlike one is unmet.

    Sees the first steps of each tape, each layer fed by the candidate's own run: what adds up behind a site is for
    `drift` to find.
    """
    sites = {site: _found(window, site) for site in window.changed}
    if not sites:
        raise Unjudged("no_change", "the arms bind the same kernels: there is no site to compare")
    numbers: dict[str, Any] = {"max_ulp": 0, "bar": gate["max_ulp"], "sites": {}}
    for site, found in sites.items():
        share = 1e6 * found["differing"] / found["compared"]
        numbers["sites"][site] = {"max_ulp": found["max_ulp"], "share_ppm": round(share, 3)}
        wrong = _wrong(gate, found, share)
        if wrong:
            return Finding("ulp", "unmet", f"site {site}: {wrong}{_first(site, found)}", {**numbers, "site": site})
        numbers["max_ulp"] = max(numbers["max_ulp"], found["max_ulp"])
    compared = sum(found["compared"] for found in sites.values())
    says = f"at most {numbers['max_ulp']} ulp apart over {compared} elements; bar {gate['max_ulp']}"
    return Finding("ulp", "met", says, numbers)


def _found(window: Window, site: str) -> Mapping[str, Any]:
    found = window.arm("B").beside.get(site)
    if found is None or not found["compared"]:
        raise Unjudged("missing_pass", f"site {site} was not run beside its control")
    return found


def _wrong(gate: Mapping[str, Any], found: Mapping[str, Any], share_ppm: float) -> str | None:
    if found.get("unlike"):
        return str(found["unlike"])
    most = gate.get("share_ppm")
    if found["max_ulp"] is None:
        return f"{found['differing']} of {found['compared']} elements differ, and not all by a distance"
    if found["max_ulp"] > gate["max_ulp"]:
        return f"{found['max_ulp']} ulp apart, {gate['max_ulp']} allowed"
    if most is not None and share_ppm > most:
        return f"{share_ppm:.3g} elements in a million differ, {most:g} allowed"
    return None


def _first(site: str, found: Mapping[str, Any]) -> str:
    return f"; first: {difference.spoken_element({'site': site, **found['first']})}" if found["first"] else ""
