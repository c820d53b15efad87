"""Does the candidate emit the control's tokens?"""

from collections.abc import Iterator, Mapping
from typing import Any

from gates.evidence import Window
from gates.finding import Finding, Unjudged


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when every tape emits the control's tokens, or parts from them at a near-tie.

    `near_tie_ulp` allows a tape to part where the control's top two logits lay at most so many ulp apart; what follows
    such a place is not compared, for it answers another prompt. Blind to logits that change without changing a token.
    """
    allowed = gate.get("near_tie_ulp")
    ties = []
    for rows in window.rows:
        control, again, candidate = (_stream(window, arm, rows) for arm in ("A", "A2", "B"))
        if _tokens(control) != _tokens(again):
            says = f"the control does not repeat itself: A and A2 emit other tokens, {rows} rows"
            raise Unjudged("controls_apart", says)
        for tape, place in _parted(control, candidate):
            says = f"tape {tape}, token {place['token']}: control {place['control']}, candidate {place['candidate']}"
            if allowed is None:
                return Finding("tokens", "unmet", f"tokens part at {says}, {rows} rows", {"rows": rows, **place})
            margin = place["margin_ulp"]
            if margin is None:
                raise Unjudged("missing_margin", f"no margin was recorded where tokens part: {says}, {rows} rows")
            if margin > allowed:
                far = f"{margin} ulp from a tie, {allowed} allowed"
                return Finding("tokens", "unmet", f"tokens part at {says}, {far}, {rows} rows", {"rows": rows, **place})
            ties.append({"rows": rows, "tape": tape, **place})
    parted = f"; {len(ties)} parted at a near-tie" if ties else ""
    return Finding("tokens", "met", f"all tapes emit the control's tokens{parted}", {"near_ties": ties})


Stream = dict[str, list[tuple[int, int | None]]]


def _stream(window: Window, arm: str, rows: int) -> Stream:
    """Per tape, each token emitted and the margin in ulp of the row that chose it."""
    item = window.arm(arm).observe(rows)[0]
    return {tape["tape"]: list(_emitted(tape)) for tape in window.sidecar(item.sidecar)["tapes"]}


def _tokens(stream: Stream) -> dict[str, list[int]]:
    return {tape: [token for token, _ in tokens] for tape, tokens in stream.items()}


def _emitted(tape: Mapping[str, Any]) -> Iterator[tuple[int, int | None]]:
    for step in tape["steps"]:
        margins = step.get("margin_ulp", [])
        for row, token in enumerate(step["emitted"]):
            yield token, margins[row] if row < len(margins) else None


def _parted(control: Stream, candidate: Stream) -> Iterator[tuple[str, dict[str, Any]]]:
    if list(control) != list(candidate):
        raise Unjudged("tapes_differ", "the arms observed other tapes, or in another order")
    for tape, ours in control.items():
        theirs = candidate[tape]
        for index, ((a, margin), (b, _)) in enumerate(zip(ours, theirs, strict=False)):
            if a != b:
                yield tape, {"tape": tape, "token": index, "control": a, "candidate": b, "margin_ulp": margin}
                break
        else:
            if len(ours) != len(theirs):
                index = min(len(ours), len(theirs))
                said = ("goes on", "ends") if len(ours) > index else ("ends", "goes on")
                ends = dict(zip(("control", "candidate"), said, strict=True))
                yield tape, {"tape": tape, "token": index, **ends, "margin_ulp": None}
