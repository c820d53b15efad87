"""Where two runs part: the first step, the first named value of a layer, the first element."""

from collections.abc import Iterator, Mapping
from typing import Any

from gates.distance import number
from gates.evidence import Arm, Observed, Window
from gates.finding import Unjudged

PARTS = {"logits": ("logits",), "tokens": ("fed", "argmax", "accepted", "kept", "emitted", "drafts"), "state": ()}


def first_step(control: Mapping[str, Any], candidate: Mapping[str, Any], over: list[str]) -> dict[str, Any] | None:
    """The first place where two observe sidecars differ in the parts that a gate is over, or None.

    Gives `tape` and `part`, and, but for a tape's closing state, `step`, `position`, `key` and `row`.
    """
    if [tape["tape"] for tape in control["tapes"]] != [tape["tape"] for tape in candidate["tapes"]]:
        raise Unjudged("tapes_differ", "the arms observed other tapes, or in another order")
    for ours, theirs in zip(control["tapes"], candidate["tapes"], strict=True):
        if ours["prompt"] != theirs["prompt"]:
            raise Unjudged("tapes_differ", f"the arms began tape {ours['tape']} from other prompts")
        place = _in_tape(ours, theirs, over)
        if place:
            return {"tape": ours["tape"], **place}
    return None


def _in_tape(ours: Mapping[str, Any], theirs: Mapping[str, Any], over: list[str]) -> dict[str, Any] | None:
    for index, (a, b) in enumerate(zip(ours["steps"], theirs["steps"], strict=False)):
        for part in over:
            for key in PARTS[part]:
                if a[key] != b[key]:
                    where = {"step": index, "position": a["position"], "key": key}
                    return {"part": part, **where, "row": _row(a[key], b[key])}
    if len(ours["steps"]) != len(theirs["steps"]) and "tokens" in over:
        return {"part": "tokens", "says": f"{len(ours['steps'])} steps against {len(theirs['steps'])}"}
    if "state" in over and ours["state"] != theirs["state"]:
        return {"part": "state", "says": "the cache state at its end"}
    return None


def _row(a: Any, b: Any) -> int | None:
    """The first unlike entry of two lists; their shorter length where one only goes on."""
    if not isinstance(a, list):
        return None
    return next((row for row, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def first_value(window: Window, control: Observed, candidate: Observed) -> dict[str, Any] | None:
    """The first layer, named value and row whose digests differ, in the candidate's order of execution.

    Only values that both arms name are compared, so that arms with other fusion still compare; None where neither
    kept them, or where the kept first steps agree.
    """
    if control.sites is None or candidate.sites is None or control.sites == candidate.sites:
        return None
    ours, theirs = window.sidecar(control.sites), window.sidecar(candidate.sites)
    for mine, other in zip(ours["tapes"], theirs["tapes"], strict=False):
        stretches: list[tuple[int | None, Any, Any]] = [(None, mine.get("prompt", []), other.get("prompt", []))]
        stretches += [(index, *both) for index, both in enumerate(zip(mine["steps"], other["steps"], strict=False))]
        for step, a, b in stretches:
            apart = _value_apart(a, b)
            if apart:
                return {"tape": mine["tape"], "step": step, **apart}
    return None


def _value_apart(a: list[Any], b: list[Any]) -> dict[str, Any] | None:
    known = dict(_numbered(a))
    for place, digests in _numbered(b):
        was = known.get(place)
        if was is not None and was != digests:
            layer, value, _ = place
            return {"layer": layer, "value": value, "row": _digest_row(was, digests)}
    return None


def _numbered(values: list[Any]) -> Iterator[tuple[tuple[int, str, int], str]]:
    """Each value with the how-manieth of its name it is: a draft embeds and norms again what verifying did before."""
    counts: dict[tuple[int, str], int] = {}
    for layer, value, digests in values:
        count = counts[layer, value] = counts.get((layer, value), -1) + 1
        yield (layer, value, count), digests


def _digest_row(a: str, b: str) -> int:
    rows = range(0, min(len(a), len(b)), 8)
    return next((at // 8 for at in rows if a[at : at + 8] != b[at : at + 8]), len(rows))


def first_element(arm: Arm, changed: list[str], tapes: list[str]) -> dict[str, Any] | None:
    """The first element where a changed site's two kernels differ on the same live inputs, or None."""

    def order(place: Mapping[str, Any]) -> tuple[int, int, int]:
        tape = tapes.index(place["tape"]) if place["tape"] in tapes else len(tapes)
        return tape, place["step"], place["layer"]

    places = [{"site": site, **first} for site, first in _firsts(arm, changed)]
    return min(places, key=order, default=None)


def _firsts(arm: Arm, changed: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for site in changed:
        first = arm.beside.get(site, {}).get("first")
        if first:
            yield site, first


def spoken_step(place: Mapping[str, Any]) -> str:
    """`tape prose, step 3 (position 21), logits of row 2`."""
    if "says" in place:
        return f"tape {place['tape']}, {place['says']}"
    row = "" if place["row"] is None else f" of row {place['row']}"
    return f"tape {place['tape']}, step {place['step']} (position {place['position']}), {place['key']}{row}"


def spoken_value(place: Mapping[str, Any]) -> str:
    """`layer 0, q_a, row 2 (tape prose, step 0)`."""
    when = "the prompt's first rows" if place["step"] is None else f"step {place['step']}"
    return f"layer {place['layer']}, {place['value']}, row {place['row']} (tape {place['tape']}, {when})"


def spoken_element(place: Mapping[str, Any]) -> str:
    """`site q_a on the same inputs: layer 0, q_a, row 2, element 17: control 3f80 (1), candidate 4000 (2)`."""
    values = ", ".join(f"{who} {place[who]}{_as_number(place[who])}" for who in ("control", "candidate"))
    where = f"layer {place['layer']}, {place['value']}, row {place['row']}, element {place['element']}"
    return f"site {place['site']} on the same inputs: {where}: {values}"


def _as_number(text: str) -> str:
    if len(text) not in (4, 8, 16) or any(digit not in "0123456789abcdef" for digit in text):
        return ""
    return f" ({number(text):.6g})"
