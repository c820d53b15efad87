"""Evidence built in memory: arms, sidecars and windows with sound defaults."""

import random
from collections.abc import Mapping
from typing import Any

from gates.evidence import Arm, Measured, Observed, Window

ROLES = {"A": "control", "A2": "control", "B": "treatment", "B2": "treatment"}
MEANING = {
    "workload": {"rows": [6, 1]},
    "choices": {"control": {}, "candidate": {"head": "head/other"}},
}


def step(position: int, rows: int = 1, **other: Any) -> dict[str, Any]:
    """A step that keeps its first row."""
    plain = {"position": position, "fed": [1] * rows, "logits": [f"{position + row:016x}" for row in range(rows)]}
    plain |= {"argmax": [1] * rows, "accepted": 0, "kept": 1, "emitted": [1], "drafts": [1] * (rows - 1)}
    return plain | other


def observe(rows: int, steps: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
    """An observe sidecar of one tape."""
    return {
        "kind": "observe",
        "rows": rows,
        "tapes": [{"tape": "prose", "prompt": "p", "steps": steps, "state": "s"} | other],
    }


def observed(rows: int, sidecar: str, **other: Any) -> Observed:
    """An observe pass that names its sidecar by any text."""
    plain = {"fill": "5a", "tapes": 1, "steps": 4, "emitted": 8, "sites": None, "launches": 40}
    return Observed(**{"rows": rows, "sidecar": sidecar, "by_kernel": {}, "by_site": {}, **plain, **other})


def arm(name: str, passes: list[Observed], readings: Mapping[int, str] | None = None, **other: Any) -> Arm:
    """An arm that made these passes; readings name sidecars by row count."""
    measured = tuple(Measured(rows, 10, sidecar, False, False, None) for rows, sidecar in (readings or {}).items())
    plain: dict[str, Any] = {"role": ROLES.get(name, "control"), "choices": {}, "threads": 1, "beside": {}}
    return Arm(**{"name": name, "observed": tuple(passes), "measured": measured, **plain, **other})


def window(arms: list[Arm], sidecars: Mapping[str, Any] | None = None, **meaning: Any) -> Window:
    """A window of these arms; sidecars by the text that arms name them by."""
    return Window(MEANING | meaning, "turns", {each.name: each for each in arms}, sidecars or {})


def timed(steps_ns: Mapping[str, list[list[int]]], cpu_ns: Mapping[str, list[list[int]]] | None = None) -> Window:
    """A window whose arms read these ns: for each arm a list of tapes, for each tape a list of steps."""
    sidecars = {name: readings(tapes, (cpu_ns or steps_ns)[name]) for name, tapes in steps_ns.items()}
    arms = [arm(name, [observed(6, "o"), observed(1, "o")], {6: name}) for name in steps_ns]
    return window(arms, sidecars)


def readings(wall: list[list[int]], cpu: list[list[int]]) -> dict[str, Any]:
    """A readings sidecar."""
    tapes = [
        {"tape": f"tape{at}", "turn": at, "skip": 0, "wall_ns": a, "cpu_ns": b}
        for at, (a, b) in enumerate(zip(wall, cpu, strict=True))
    ]
    return {"kind": "readings", "unit": "ns", "rows": 6, "tapes": tapes}


class Machine:
    """A machine with a spread between boots, between turns, and now and then a turn that another program shares."""

    def __init__(self, seed: int, *, boot_ms: float, turn_ms: float, busy_share: float = 0.0, busy_ms: float = 0.0):
        self._draw = random.Random(seed)
        self._boot, self._turn, self._share, self._busy = boot_ms, turn_ms, busy_share, busy_ms

    def boot(self, step_ms: float, tapes: int = 8) -> list[list[float]]:
        """One boot's blocks in us: one step a tape, for the trimmed mean of a tape is one number."""
        level = step_ms + self._draw.gauss(0, self._boot)
        return [[1000 * (level + self._draw.gauss(0, self._turn) + self._disturbed())] for _ in range(tapes)]

    def _disturbed(self) -> float:
        return self._draw.random() * self._busy if self._draw.random() < self._share else 0.0
