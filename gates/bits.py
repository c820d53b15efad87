"""Does the candidate give the control's bits, and give them again?"""

from collections.abc import Mapping
from typing import Any

from gates import difference
from gates.evidence import Arm, Observed, Window
from gates.finding import Finding, Unjudged


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when candidate and control have equal digests over the parts that the gate names.

    `over` holds logits, tokens or state. `replay` and `fills` ask the same of two passes in one process, whose output
    buffers were poisoned with unlike bytes; `relaunch` of two processes; `repeat: N` of the first tape's first step,
    run N times from the same state: none unlike bounds the rate of unlike ones by 3/N at 95 %. A control that does
    not repeat itself voids the gate, for then there is nothing to be equal to. Sees only what was hashed, on the
    tapes that were run; equal digests of 64 bits a row are taken for equal values.
    """
    over = list(gate["over"])
    for rows in window.rows:
        _controls_agree(window, rows, over)
    for rows in window.rows:
        unmet = _against_control(window, rows, over) or _against_itself(gate, window, rows, over)
        if unmet:
            return unmet
    numbers: dict[str, Any] = _counts(window)
    says = f"{', '.join(over)} equal over {numbers['steps']} steps of {numbers['tapes']} tapes"
    says = f"{says}, at {_spoken_rows(window.rows)}"
    if gate.get("repeat"):
        numbers["repeat"] = _repeated(window.arm("B"), gate["repeat"])
        if numbers["repeat"]["differing"]:
            return Finding(
                "bits", "unmet", f"B's first step does not repeat itself: {_rate(numbers['repeat'])}", numbers
            )
        says = f"{says}; first step: {_rate(numbers['repeat'])}"
    return Finding("bits", "met", says, numbers)


def rate_says(differing: int, calls: int) -> str:
    """`0 of 32 calls differ, so fewer than 9.4 % at 95 %`; the bound is 3/N where none was unlike."""
    bound = f", so fewer than {min(1.0, 3 / calls):.2g} of all at 95 %" if not differing else ""
    return f"{differing} of {calls} calls differ{bound}"


def _rate(repeat: Mapping[str, Any]) -> str:
    first = "" if repeat["first"] is None else f", the first at call {repeat['first']}"
    return rate_says(repeat["differing"], repeat["calls"]) + first


def _repeated(candidate: Arm, calls: int) -> dict[str, Any]:
    found = candidate.repeat
    if found is None or found["calls"] < calls:
        had = found["calls"] if found else 0
        raise Unjudged("missing_pass", f"arm {candidate.name} repeated its first step {had} times; repeat is {calls}")
    return dict(found)


def _spoken_rows(rows: list[int]) -> str:
    return f"{' and '.join(str(count) for count in rows)} row{'' if rows == [1] else 's'}"


def _counts(window: Window) -> dict[str, int]:
    first = [window.arm("B").observe(rows)[0] for rows in window.rows]
    return {"steps": sum(item.steps for item in first), "tapes": max(item.tapes for item in first)}


def _compare(window: Window, a: Observed, b: Observed, over: list[str]) -> dict[str, Any] | None:
    if a.sidecar == b.sidecar:
        return None
    return difference.first_step(window.sidecar(a.sidecar), window.sidecar(b.sidecar), over)


def _controls_agree(window: Window, rows: int, over: list[str]) -> None:
    first = window.arm("A").observe(rows)[0]
    for arm in (window.arm("A"), window.arm("A2")):
        for item in arm.observe(rows):
            place = _compare(window, first, item, over)
            if place:
                says = f"the control does not repeat itself: A and {arm.name} (fill {item.fill}) differ at"
                raise Unjudged("controls_apart", f"{says} {difference.spoken_step(place)}, {rows} rows")


def _against_control(window: Window, rows: int, over: list[str]) -> Finding | None:
    control, candidate = window.arm("A").observe(rows)[0], window.arm("B").observe(rows)[0]
    place = _compare(window, control, candidate, over)
    if place is None:
        return None
    value = difference.first_value(window, control, candidate)
    tapes = [tape["tape"] for tape in window.sidecar(control.sidecar)["tapes"]]
    element = difference.first_element(window.arm("B"), window.changed, tapes)
    lines = [f"B differs from A first at {difference.spoken_step(place)}, {rows} rows"]
    if value:
        lines.append(f"first value apart: {difference.spoken_value(value)}")
    if element:
        lines.append(difference.spoken_element(element))
    return Finding("bits", "unmet", "; ".join(lines), {"rows": rows, "step": place, "value": value, "element": element})


def _against_itself(gate: Mapping[str, Any], window: Window, rows: int, over: list[str]) -> Finding | None:
    candidate = window.arm("B")
    first, *again = candidate.observe(rows)
    if gate.get("replay") or gate.get("fills"):
        if not again:
            raise Unjudged("missing_pass", f"arm B has one observe pass at {rows} rows; replay and fills need two")
        if gate.get("fills") and len({item.fill for item in (first, *again)}) < 2:
            raise Unjudged("missing_pass", f"arm B's observe passes at {rows} rows share one fill; fills needs two")
        for item in again:
            place = _compare(window, first, item, over)
            if place:
                return _unlike(f"B's two passes differ (fills {first.fill} and {item.fill})", place, rows)
    return _relaunched(window, candidate, rows, over) if gate.get("relaunch") else None


def _relaunched(window: Window, candidate: Arm, rows: int, over: list[str]) -> Finding | None:
    again = [arm for arm in window.role("treatment") if arm.name != candidate.name]
    passes = [(arm, item) for arm in again for item in arm.observed if item.rows == rows]
    if not again or (not passes and rows == window.rows[0]):
        raise Unjudged("missing_arm", f"no second process ran the candidate at {rows} rows; relaunch needs one")
    for arm, item in passes:
        place = _compare(window, candidate.observe(rows)[0], item, over)
        if place:
            return _unlike(f"B and its relaunch {arm.name} differ", place, rows)
    return None


def _unlike(who: str, place: dict[str, Any], rows: int) -> Finding:
    says = f"{who} at {difference.spoken_step(place)}, {rows} rows"
    return Finding("bits", "unmet", says, {"rows": rows, "step": place})
