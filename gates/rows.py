"""Does a row's result depend on how many rows ride along?"""

from collections.abc import Iterator, Mapping
from typing import Any

from gates.evidence import Window
from gates.finding import Finding, Unjudged


def judge(gate: Mapping[str, Any], window: Window) -> Finding:
    """Met when every kept row of a step of several rows has the logits that a one-row step has at that position.

    Compared by position in the candidate's own stream; rows that were rejected read a context that never came to be,
    and have no one-row counterpart. A step's rows behind the accepted ones are therefore not seen.
    """
    counts = window.rows
    if len(counts) < 2 or counts[-1] != 1:
        raise Unjudged("missing_pass", f"the workload's rows are {counts}: this gate needs 1 and a larger count")
    alone = _by_position(window, 1)
    compared = 0
    for rows in counts[:-1]:
        for tape, step, row, position, digest in _kept(window, rows):
            expected = alone.get((tape, position))
            if expected is None:
                continue
            compared += 1
            if digest != expected:
                place = {"rows": rows, "tape": tape, "step": step, "row": row, "position": position}
                where = f"tape {tape}, step {step}, position {position}"
                says = f"row {row} of {rows} differs from the one-row step: {where}"
                return Finding("rows", "unmet", says, place)
    if not compared:
        raise Unjudged("missing_pass", "no position was observed at both row counts")
    return Finding("rows", "met", f"{compared} rows equal their one-row steps", {"compared": compared})


def _kept(window: Window, rows: int) -> Iterator[tuple[str, int, int, int, str]]:
    """Tape, step, row, position and logits digest of each kept row; a step's position is that of its first row."""
    item = window.arm("B").observe(rows)[0]
    for tape in window.sidecar(item.sidecar)["tapes"]:
        for index, step in enumerate(tape["steps"]):
            for row, digest in enumerate(step["logits"][: step["kept"]]):
                yield tape["tape"], index, row, step["position"] + row, digest


def _by_position(window: Window, rows: int) -> dict[tuple[str, int], str]:
    return {(tape, position): digest for tape, _, _, position, digest in _kept(window, rows)}
