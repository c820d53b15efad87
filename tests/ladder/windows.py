"""Builds a whole, sound window on disk, in which a test then changes one thing."""

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gates.digest import digest, meaning_digest
from ladder import records
from ladder.records import Record

RUNG, PROFILE, AT = "r1", "cpu", "2026-12-01T07:20:00Z"
CANDIDATE, REFERENCE = "rmsnorm/torch_split", "rmsnorm/reference"
SITE = "attn_norm"
TAPES = ("code", "prose", "sums", "verse")
CODE = {f"kernels/{address}.py": digest(address.encode()) for address in (CANDIDATE, REFERENCE)}
Change = Callable[..., None]
GATES = (
    {"gate": "bits", "over": ["logits", "tokens", "state"], "replay": True, "relaunch": True, "fills": True},
    {"gate": "tokens"},
    {"gate": "rows"},
    {"gate": "speed", "primary": True, "metric": "step_us", "rows": 6, "bar": -10_000, "rule": "strict"},
    {"gate": "kernels", "launches": 0},
)


def nothing(*_: Any) -> None:
    """The change that changes nothing."""


@dataclass(frozen=True)
class Made:
    """A window as built: where it lies and what it is called."""

    root: Path
    window: str
    registration: Record
    start: Record

    @property
    def folder(self) -> Path:
        return self.start.path.parent


def meaning() -> dict[str, Any]:
    return {
        "question": "Is it faster?",
        "parent": "reference",
        "change": {SITE: CANDIDATE},
        "choices": {"control": {}, "candidate": {SITE: CANDIDATE}},
        "gates": [dict(gate) for gate in GATES],
        "instrument": "wall",
        "window": {"design": "turns"},
        "workload": {
            "model": "tiny",
            "rows": [6, 1],
            "observe": {"tapes": len(TAPES), "new_tokens": 9},
            "measure": {"tapes": len(TAPES), "new_tokens": 30, "skip_steps": 2},
        },
    }


def hexed(count: int, *parts: object) -> str:
    return digest(repr(parts).encode())[:count]


def observe_sidecar(rows: int) -> dict[str, Any]:
    """Three steps a tape: with several rows two drafts hold; every position has one logits digest at any row count."""
    kept = min(rows, 3)

    def step(tape: str, index: int) -> dict[str, Any]:
        at = 10 + index * kept
        rows_at = range(at, at + rows)
        return {
            "position": at,
            "fed": [position % 7 for position in rows_at],
            "logits": [hexed(16, tape, position) for position in rows_at],
            "argmax": [(position + 1) % 7 for position in rows_at],
            "accepted": kept - 1,
            "kept": kept,
            "emitted": [(position + 1) % 7 for position in rows_at][:kept],
            "drafts": [1] * (rows - 1),
        }

    tapes = [
        {
            "tape": tape,
            "prompt": hexed(16, tape),
            "state": hexed(16, "state", tape),
            "steps": [step(tape, index) for index in range(9 // kept)],
        }
        for tape in TAPES
    ]
    return {"kind": "observe", "rows": rows, "tapes": tapes}


def sites_sidecar(rows: int) -> dict[str, Any]:
    values = [[layer, value, hexed(8, layer, value) * rows] for layer in (0, 1) for value in ("attn_norm", "q_a")]
    return {"kind": "sites", "rows": rows, "tapes": [{"tape": tape, "steps": [values]} for tape in TAPES]}


def readings_sidecar(arm: str, rows: int, step_ns: int) -> dict[str, Any]:
    noise = random.Random(f"{arm} {rows}")
    tapes = []
    for turn, tape in enumerate(TAPES):
        wall = [step_ns + noise.randrange(-200_000, 200_000) for _ in range(12)]
        cpu = [ns - 500_000 for ns in wall]
        tapes.append({"tape": tape, "turn": turn, "skip": 2, "wall_ns": wall, "cpu_ns": cpu})
    return {"kind": "readings", "unit": "ns", "rows": rows, "tapes": tapes}


def receipt(arm: str, start: Record) -> dict[str, Any]:
    """What one arm left, but for its passes."""
    role = "treatment" if arm.startswith("B") else "control"
    choices = start.value["arms"][arm]
    bound = choices.get(SITE, REFERENCE)
    path = f"kernels/{bound}.py"
    return {
        "record": "receipt",
        "format": 1,
        "prev": [start.sha256],
        "at": AT,
        "rung": RUNG,
        "profile": PROFILE,
        "window": start.d8,
        "start": start.sha256,
        "arm": arm,
        "role": role,
        "passes": ["observe"] if arm == "B2" else ["observe", "measure"],
        "choices": choices,
        "kernels": {bound: {"source_sha256": CODE[path]}},
        "loaded": {path: CODE[path]},
        "machine": {"cpu": "a", "cores": 2},
        "software": {"python": "3.11.7", "torch": "2.13"},
        "process": {"threads": 1, "boot_ns": 1, "peak_bytes": 1},
        "model": {"name": "tiny", "checkpoint_sha256": "1" * 64, "arithmetic": "product"},
        "observe": [],
        "measure": [],
        "beside": {},
        "compiles_in_range": 0,
        "foreign_bytes": 0,
        "trouble": [],
        "ended": "done",
    }


def make(
    root: Path,
    *,
    gain_ns: int = 20_000_000,
    at: str = AT,
    meant: Change = nothing,
    registered: Change = nothing,
    started: Change = nothing,
    received: Change = nothing,
    observed: Change = nothing,
    seen: Change = nothing,
    read: Change = nothing,
) -> Made:
    """A window in which the candidate gives the control's bits and is `gain_ns` faster on a 100 ms step.

    Each change is called on a value before it is written and edits it in place: `meant(meaning)`,
    `registered(registration)`, `started(start)`, `received(arm, receipt)`, `observed(arm, rows, sidecar)`,
    `seen(arm, rows, sites_sidecar)`, `read(arm, rows, readings_sidecar)`.
    """
    asked = meaning()
    meant(asked)
    folder = root / "receipts" / RUNG
    registration = records.write_named(folder, _registration(asked, at, registered))
    start = records.write_start(folder, _start(asked, at, registration, started))
    for arm in start.value["arms"]:
        value = receipt(arm, start)
        for rows in asked["workload"]["rows"] if arm != "B2" else asked["workload"]["rows"][:1]:
            value["observe"] += [_observe(start, arm, rows, fill, observed, seen) for fill in ("5a", "ff")]
            if "measure" in value["passes"]:
                value["measure"].append(_measure(start, arm, rows, gain_ns, read))
        received(arm, value)
        if value:
            records.write(start.path.parent / f"{arm}.json", value)
    return Made(root, start.d8, registration, start)


def _registration(asked: dict[str, Any], at: str, change: Change) -> dict[str, Any]:
    value = {
        "record": "registration",
        "format": 1,
        "prev": [],
        "at": at,
        "rung": RUNG,
        "profile": PROFILE,
        "revision": 1,
        "meaning": copy.deepcopy(asked),
        "meaning_sha256": meaning_digest(asked),
        "gates_sha256": meaning_digest(asked["gates"]),
        "code_sha256": meaning_digest(CODE),
        "code": dict(CODE),
        "third_party": {"torch": "2.13"},
        "commit": None,
    }
    change(value)
    return value


def _start(asked: dict[str, Any], at: str, registration: Record, change: Change) -> dict[str, Any]:
    control, candidate = asked["choices"]["control"], asked["choices"]["candidate"]
    value = {
        "record": "start",
        "format": 1,
        "prev": [registration.sha256],
        "at": at,
        "rung": RUNG,
        "profile": PROFILE,
        "registration": registration.sha256,
        "exploratory": [],
        "meaning": copy.deepcopy(asked),
        "arms": {"A": control, "B": candidate, "A2": control, "B2": candidate},
        "design": asked["window"]["design"],
        "instrument": asked["instrument"],
        "seeds_sha256": None,
        "box": {"cpu": "a", "cores": 2},
        "commit": None,
        "dirty": False,
    }
    change(value)
    return value


def _observe(start: Record, arm: str, rows: int, fill: str, observed: Change, seen: Change) -> dict[str, Any]:
    folder = start.path.parent
    value, sites = observe_sidecar(rows), sites_sidecar(rows)
    observed(arm, rows, value)
    seen(arm, rows, sites)
    steps = sum(len(tape["steps"]) for tape in value["tapes"])
    calls = {start.value["arms"][arm].get(SITE, REFERENCE): 2 * steps}
    return {
        "rows": rows,
        "fill": fill,
        "tapes": len(value["tapes"]),
        "steps": steps,
        "emitted": sum(len(step["emitted"]) for tape in value["tapes"] for step in tape["steps"]),
        "sidecar": records.write_sidecar(folder, "observe", value),
        "sites": records.write_sidecar(folder, "sites", sites) if fill == "5a" else None,
        "launches": {"total": 2 * steps, "by_kernel": calls, "by_site": {SITE: calls}},
        "experts_by_layer": [],
    }


def _measure(start: Record, arm: str, rows: int, gain_ns: int, read: Change) -> dict[str, Any]:
    step_ns = 100_000_000 - (gain_ns if start.value["arms"][arm] else 0)
    value = readings_sidecar(arm, rows, step_ns)
    read(arm, rows, value)
    return {
        "rows": rows,
        "steps": sum(len(tape["wall_ns"]) for tape in value["tapes"]),
        "sidecar": records.write_sidecar(start.path.parent, "readings", value),
        "moved": {"tokens": False, "logits": False},
    }
