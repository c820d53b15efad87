"""Where two arms' runs part: the first step, the first value, the first element, from what their receipts hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gates import difference
from gates.evidence import Arm
from gates.evidence import Window as Evidence
from gates.finding import Unjudged
from ladder import checkout, window
from ladder.errors import LadderError
from ladder.names import check, shown
from ladder.window import Found

ALL = ["tokens", "logits", "state"]
SAME = ("model", "machine")  # what must be the same for bits to be comparable


class NoReceipt(LadderError):
    """No receipt answers to what was given."""


class NotComparable(LadderError):
    """Bits of the two receipts cannot be expected to be equal."""


@dataclass(frozen=True)
class Told:
    """One arm as it lies on disk."""

    name: str
    found: Found
    arm: Arm
    receipt: Mapping[str, Any]


def locate(root: Path, x: str, y: str) -> list[dict[str, Any]]:
    """For each row count that both observed: where `y` first parts from `x`, or None in `step` where it never does."""
    ours, theirs = _told(root, x), _told(root, y)
    for field in SAME:
        if ours.receipt[field] != theirs.receipt[field]:
            keys = {*(ours.receipt[field] or {}), *(theirs.receipt[field] or {})}
            odd = [key for key in sorted(keys) if _of(ours, field, key) != _of(theirs, field, key)]
            raise NotComparable(
                f"{x} and {y}: {field}.{odd[0]} is {shown(_of(ours, field, odd[0]))} and "
                f"{shown(_of(theirs, field, odd[0]))}: bits belong to one model on one machine"
            )
    both = sorted({item.rows for item in ours.arm.observed} & {item.rows for item in theirs.arm.observed}, reverse=True)
    if not both:
        raise NotComparable(f"{x} and {y} observed no row count in common")
    return [_at(ours, theirs, rows) for rows in both]


def text(found: list[dict[str, Any]], x: str, y: str) -> str:
    """The same for people."""
    return "\n".join(line for each in found for line in _lines(each, x, y))


def _of(told: Told, field: str, key: str) -> Any:
    return (told.receipt[field] or {}).get(key)


def _told(root: Path, given: str) -> Told:
    """`<rung>/<window>/<arm>`, with or without `receipts/` before and `.json` behind."""
    parts = given.removeprefix("receipts/").removesuffix(".json").split("/")
    if len(parts) != 3:
        raise NoReceipt(f"{shown(given)} is no receipt: write <rung>/<window>/<arm>, as in t9b-4/0123abcd/B")
    rung, name, arm = parts
    found = window.load(root, checkout.rung_of(root, rung), check("window", name))
    if check("arm", arm) not in found.receipts:
        have = ", ".join(found.receipts) or "none"
        raise NoReceipt(f"window {name} of {rung} has no receipt of arm {arm} (has: {have})")
    return Told(given, found, found.evidence.arms[arm], found.receipts[arm].value)


def _at(ours: Told, theirs: Told, rows: int) -> dict[str, Any]:
    a, b = ours.arm.observe(rows)[0], theirs.arm.observe(rows)[0]
    place: dict[str, Any] = {"rows": rows, "step": None, "value": None, "element": None, "margin_ulp": None}
    try:
        one, other = ours.found.sidecars[a.sidecar], theirs.found.sidecars[b.sidecar]
        step = difference.first_step(one, other, ALL) if a.sidecar != b.sidecar else None
        if step is None:
            return place
        tapes = [tape["tape"] for tape in one["tapes"]]
        return {
            **place,
            "step": step,
            "value": difference.first_value(_evidence(ours, theirs), a, b),
            "element": difference.first_element(theirs.arm, theirs.found.evidence.changed, tapes),
            "margin_ulp": _margin(one, step),
        }
    except (Unjudged, KeyError) as error:
        says = error.says if isinstance(error, Unjudged) else f"sidecar {str(error)[1:9]} is not there"
        raise NotComparable(f"{ours.name} and {theirs.name}, {rows} rows: {says}") from None


def _evidence(ours: Told, theirs: Told) -> Evidence:
    """Both windows' sidecars in one, for what compares two passes."""
    sidecars = {sha256: told.found.sidecars[sha256] for told in (ours, theirs) for sha256 in _sites(told.arm)}
    return Evidence({}, "", {}, sidecars)


def _sites(arm: Arm) -> Iterator[str]:
    yield from (item.sites for item in arm.observed if item.sites)


def _margin(sidecar: Mapping[str, Any], step: Mapping[str, Any]) -> int | None:
    """How far from a tie the control's row lay whose token is another one."""
    if step.get("row") is None or step.get("key") not in {"argmax", "emitted"}:
        return None
    tape = next(each for each in sidecar["tapes"] if each["tape"] == step["tape"])
    margins = tape["steps"][step["step"]].get("margin_ulp", [])
    return margins[step["row"]] if step["row"] < len(margins) else None


def _lines(each: Mapping[str, Any], x: str, y: str) -> Iterator[str]:
    if each["step"] is None:
        yield f"{each['rows']} rows: {y} gives the bits of {x}"
        return
    yield f"{each['rows']} rows: {y} parts from {x} at {difference.spoken_step(each['step'])}"
    if each["margin_ulp"] is not None:
        yield f"  {x} had its two highest logits {each['margin_ulp']} ulp apart there"
    if each["value"]:
        yield f"  first value apart: {difference.spoken_value(each['value'])}"
    if each["element"]:
        yield f"  {difference.spoken_element(each['element'])}"
