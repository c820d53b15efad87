"""A window's readings, paired by tape and step across its arms, or the reason why they cannot be."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gates.evidence import Arm, Window
from gates.finding import Unjudged

BLOCKS = 8  # independent stretches wanted; with fewer tapes, each is cut into runs of steps
CLOCK_RATIO = 1.25  # CPU time over wall time and threads: above it, work ran on threads that nobody declared
CLOCK_SLACK_NS = 1_000_000  # a tape's CPU clock may be this far above, whatever the ratio


@dataclass(frozen=True)
class Paired:
    """Both clocks' readings in ns: for each arm a list of blocks, for each block a list of steps, all aligned.

    `tapes` names the tape of each block.
    """

    rows: int
    tapes: tuple[str, ...]
    wall: Mapping[str, list[list[int]]]
    cpu: Mapping[str, list[list[int]]]


def pair(window: Window, rows: int) -> Paired:
    """The measured arms' readings at one row count, without the steps that the workload skips.

    Raises Unjudged where a reading is not a whole number of ns above zero, where arms ran other tapes or other steps,
    or where the clocks are apart: over a tape, CPU time above wall time x threads x CLOCK_RATIO (plus a millisecond)
    is work on an undeclared thread. CPU time below wall time is allowed, whatever the distance: on a busy machine a
    step waits for its turn.
    """
    arms = [arm for arm in window.arms.values() if arm.measured]
    tapes = {arm.name: _tapes(window, arm, rows) for arm in arms}
    _same_shape(tapes)
    wall = {name: _blocks([tape[0] for tape in kept.values()]) for name, kept in tapes.items()}
    cpu = {name: _blocks([tape[1] for tape in kept.values()]) for name, kept in tapes.items()}
    return Paired(rows, _names(next(iter(tapes.values()), {})), wall, cpu)


Clocks = tuple[list[int], list[int]]


def _tapes(window: Window, arm: Arm, rows: int) -> dict[tuple[str, int], Clocks]:
    """Both clocks by tape and its how-manieth turn."""
    found: dict[tuple[str, int], Clocks] = {}
    for tape in window.sidecar(arm.measure(rows).sidecar)["tapes"]:
        where = f"arm {arm.name}, {rows} rows, tape {tape['tape']}"
        wall = _sound(tape["wall_ns"], f"{where}, wall_ns", above=0)
        cpu = _sound(tape["cpu_ns"], f"{where}, cpu_ns", above=-1)
        if len(wall) != len(cpu):
            raise Unjudged("steps_unpaired", f"{where}: {len(wall)} wall and {len(cpu)} CPU readings")
        wall, cpu = wall[tape["skip"] :], cpu[tape["skip"] :]
        if not wall:
            raise Unjudged("steps_unpaired", f"{where}: no step is left behind the {tape['skip']} skipped")
        _clocks_agree(sum(wall), sum(cpu), arm.threads, where)
        turn = sum(1 for name, _ in found if name == tape["tape"])
        found[tape["tape"], turn] = wall, cpu
    return dict(sorted(found.items()))


def _sound(values: Sequence[Any], where: str, *, above: int) -> list[int]:
    bad = [index for index, value in enumerate(values) if type(value) is not int or value <= above]
    if bad:
        listed = ", ".join(str(index) for index in bad[:6]) + (", ..." if len(bad) > 6 else "")
        says = f"{len(bad)} of {len(values)} readings cannot be one (whole ns above zero): steps {listed}"
        raise Unjudged("bad_reading", f"{where}: {says}")
    return list(values)


def _clocks_agree(wall_ns: int, cpu_ns: int, threads: int, where: str) -> None:
    if cpu_ns > wall_ns * max(threads, 1) * CLOCK_RATIO + CLOCK_SLACK_NS:
        says = f"{cpu_ns / 1e6:.1f} ms of CPU time in {wall_ns / 1e6:.1f} ms on {threads} thread(s)"
        raise Unjudged("clocks_apart", f"{where}: {says}: work left the timed thread")
    if cpu_ns == 0:
        raise Unjudged("clocks_apart", f"{where}: the second clock did not move")


def _same_shape(tapes: Mapping[str, Mapping[tuple[str, int], Clocks]]) -> None:
    names = sorted(tapes)
    for name in names[1:]:
        ours, theirs = tapes[names[0]], tapes[name]
        if list(ours) != list(theirs):
            odd = sorted({tape for tape, _ in set(ours) ^ set(theirs)})
            raise Unjudged("tapes_differ", f"arms {names[0]} and {name} measured other tapes: {', '.join(odd)}")
        for (tape, turn), (wall, _) in ours.items():
            if len(wall) != len(theirs[tape, turn][0]):
                counts = f"{len(wall)} steps in {names[0]}, {len(theirs[tape, turn][0])} in {name}"
                raise Unjudged("steps_unpaired", f"tape {tape}: {counts}")


def _blocks(tapes: list[list[int]]) -> list[list[int]]:
    """The tapes, each cut into equal runs of steps until there are BLOCKS; the cut depends on lengths alone."""
    found = []
    for steps in tapes:
        count = _pieces(len(tapes), len(steps))
        edges = [len(steps) * index // count for index in range(count + 1)]
        found += [steps[low:high] for low, high in itertools.pairwise(edges)]
    return found


def _names(tapes: Mapping[tuple[str, int], Clocks]) -> tuple[str, ...]:
    return tuple(name for (name, _), (wall, _) in tapes.items() for _ in range(_pieces(len(tapes), len(wall))))


def _pieces(tapes: int, steps: int) -> int:
    return min(-(-BLOCKS // tapes), steps)
