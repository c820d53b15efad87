"""Windows as a run would leave them, built in memory, spoiled by a test, and laid on disk."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gates.digest import digest, meaning_digest
from ladder import acceptance, records

ROWS = (6, 1)
TAPES = ("prose", "code", "math", "json", "shell", "tool", "long", "story")
CONTROL, CANDIDATE = "head/torch_slowed", "head/reference"
SOURCES = {CONTROL: "c" * 64, CANDIDATE: "d" * 64}
AT = "2026-12-01T07:20:00Z"

Parts = dict[str, Any]


def meaning(**other: Any) -> dict[str, Any]:
    """A card's profile as a registration holds it."""
    return {
        "question": "Is the head shorter without its spin?",
        "workload": {
            "model": "tiny",
            "rows": list(ROWS),
            "observe": {"tapes": 8, "new_tokens": 16},
            "measure": {"tapes": 8, "new_tokens": 32, "skip_steps": 2},
        },
        "window": {"design": "turns"},
        "instrument": "wall",
        "choices": {"control": {"head": CONTROL}, "candidate": {"head": CANDIDATE}},
        "gates": [
            {"gate": "bits", "over": ["logits", "tokens", "state"], "replay": True, "relaunch": True, "fills": True},
            {"gate": "tokens"},
            {"gate": "rows"},
            {"gate": "kernels", "launches": 0},
            {"gate": "speed", "primary": True, "metric": "step_us", "rows": 6, "bar": -10000, "rule": "point"},
        ],
    } | other


def observe(rows: int) -> dict[str, Any]:
    """Each tape decoded to 16 tokens: 4 steps of 6 rows that emit 4, or 16 of one."""
    tapes = []
    for name in TAPES:
        emitted = 4 if rows > 1 else 1
        steps = [_step(name, 20 + at, rows, emitted) for at in range(0, 16, emitted)]
        tapes.append({"tape": name, "prompt": _hex(f"{name} prompt"), "state": _hex(f"{name} state"), "steps": steps})
    return {"kind": "observe", "rows": rows, "tapes": tapes}


def _step(tape: str, position: int, rows: int, kept: int) -> dict[str, Any]:
    tokens = [int(_hex(f"{tape} token {position + row}")[:2], 16) for row in range(-1, rows)]
    return {
        "position": position,
        "fed": tokens[:-1],
        "logits": [_hex(f"{tape} {position + row}") for row in range(rows)],
        "argmax": tokens[1:],
        "margin_ulp": [100] * rows,
        "accepted": kept - 1,
        "kept": kept,
        "emitted": tokens[1 : kept + 1],
        "drafts": tokens[1:-1],
    }


def sites(rows: int) -> dict[str, Any]:
    """Two values of two layers in the first four steps of each tape."""
    step = [[layer, value, _hex(f"{layer} {value}")[:8] * rows] for layer in (0, 1) for value in ("q_a", "head")]
    return {"kind": "sites", "rows": rows, "tapes": [{"tape": name, "steps": [step] * 4} for name in TAPES]}


def readings(rows: int, step_ns: int, seed: int = 0, spread_ns: int = 300_000) -> dict[str, Any]:
    """Ten steps of each tape around `step_ns`, each a turn."""
    draw = random.Random(f"{rows} {seed}")
    tapes = []
    for turn, name in enumerate(TAPES):
        wall = [round(step_ns + draw.gauss(0, spread_ns)) for _ in range(10)]
        cpu = [each - 50_000 for each in wall]
        tapes.append({"tape": name, "turn": turn, "skip": 2, "wall_ns": wall, "cpu_ns": cpu})
    return {"kind": "readings", "unit": "ns", "rows": rows, "tapes": tapes}


def _hex(text: str) -> str:
    return digest(text.encode())[:16]


def arm(name: str, step_ns: int) -> Parts:
    """One arm's sidecars by row count, and its receipt but for what the sidecars decide."""
    treatment = name.startswith("B")
    address = CANDIDATE if treatment else CONTROL
    passes = ["observe"] if name == "B2" else ["observe", "measure"]
    return {
        "observe": {rows: [("5a", observe(rows), sites(rows)), ("ff", observe(rows), None)] for rows in ROWS},
        "readings": {rows: readings(rows, step_ns // (1 if rows > 1 else 2), seed=hash_of(name)) for rows in ROWS}
        if "measure" in passes
        else {},
        "calls": {"head": {address: 1}},
        "told": {},
        "compared": 80,
        "moved": {rows: {"tokens": False, "logits": False} for rows in ROWS},
        "receipt": {
            "arm": name,
            "role": "treatment" if treatment else "control",
            "passes": passes,
            "choices": {"head": address},
            "kernels": {address: {"source_sha256": SOURCES[address]}},
            "loaded": {"runtime/model.py": "e" * 64},
            "machine": {"cpu": "a cpu", "cores": 2},
            "software": {"torch": "2.13.0"},
            "process": {"threads": 1, "boot_ns": 5, "peak_bytes": 6},
            "model": {"name": "tiny", "checkpoint_sha256": "f" * 64, "arithmetic": "product"},
            "beside": {},
            "compiles_in_range": 0,
            "foreign_bytes": 0,
            "trouble": [],
            "ended": "done",
        },
    }


def hash_of(text: str) -> int:
    """A small number that depends on the text alone."""
    return int(_hex(text)[:6], 16)


def parts(candidate_ns: int = 80_000_000, control_ns: int = 100_000_000, **other: Any) -> Parts:
    """A sound window that passes: the candidate 20 ms shorter, everything else equal."""
    steps = {"A": control_ns, "B": candidate_ns, "A2": control_ns + 200_000, "B2": candidate_ns}
    return {
        "meaning": meaning(**other),
        "registration": {},
        "start": {},
        "at": AT,
        "rung": "demo",
        "profile": "cpu",
        "arms": {name: arm(name, step_ns) for name, step_ns in steps.items()},
    }


def lay(root: Path, built: Parts, prev: list[str] | None = None) -> str:
    """Write the parts as records under `root`; the window's name."""
    folder = root / "receipts" / built["rung"]
    registration = _registration(folder, built, prev or [])
    start = _start(folder, built, registration, prev or [])
    for name, each in built["arms"].items():
        window = start.path.parent
        receipt = _receipt(window, each) | {"window": start.d8, "start": start.sha256, "prev": [start.sha256]}
        records.write(window / f"{name}.json", _head("receipt", built) | receipt | each["receipt"])
    return start.d8


def _head(kind: str, built: Parts) -> dict[str, Any]:
    head = {"record": kind, "format": 1, "prev": [], "at": built["at"]}
    return head | {"rung": built["rung"], "profile": built["profile"]}


def _registration(folder: Path, built: Parts, prev: list[str]) -> records.Record | None:
    if built["registration"] is None:
        return None
    code = {f"kernels/{address}.py": source for address, source in SOURCES.items()} | {"runtime/model.py": "e" * 64}
    value = {
        "prev": prev,
        "revision": 1,
        "meaning": built["meaning"],
        "meaning_sha256": meaning_digest(built["meaning"]),
        "gates_sha256": meaning_digest(built["meaning"]["gates"]),
        "code_sha256": meaning_digest(code),
        "code": code,
        "third_party": {"torch": "2.13.0"},
        "commit": "1" * 40,
    }
    return records.write_named(folder, _head("registration", built) | value | built["registration"])


def _start(folder: Path, built: Parts, registration: records.Record | None, prev: list[str]) -> records.Record:
    choices = built["meaning"]["choices"]
    value = {
        "prev": [registration.sha256] if registration else prev,
        "registration": registration.sha256 if registration else None,
        "exploratory": [],
        "meaning": built["meaning"],
        "arms": {name: choices["candidate" if name.startswith("B") else "control"] for name in built["arms"]},
        "design": built["meaning"]["window"]["design"],
        "instrument": built["meaning"]["instrument"],
        "seeds_sha256": None,
        "box": {"cpu": "a cpu"},
        "commit": "1" * 40,
        "dirty": False,
    }
    return records.write_start(folder, _head("start", built) | value | built["start"])


def _receipt(folder: Path, each: Parts) -> dict[str, Any]:
    observed = []
    for rows, passes in each["observe"].items():
        for fill, document, kept in passes:
            every = [step for tape in document["tapes"] for step in tape["steps"]]
            steps = len(every)
            by_site = {
                site: {at: count * steps for at, count in calls.items()} for site, calls in each["calls"].items()
            }
            by_kernel = {at: count for calls in by_site.values() for at, count in calls.items()}
            observed.append(
                {
                    "rows": rows,
                    "fill": fill,
                    "tapes": len(document["tapes"]),
                    "steps": steps,
                    "emitted": sum(len(step["emitted"]) for tape in document["tapes"] for step in tape["steps"]),
                    "sidecar": sidecar(folder, document),
                    "sites": sidecar(folder, kept) if kept else None,
                    "launches": {"total": 40 * steps, "by_kernel": by_kernel, "by_site": by_site},
                    "experts_by_layer": [4000],
                    "acceptance": acceptance.counted(every, rows)
                    | acceptance.union([4000], 32, 4, rows)
                    | each.get("acceptance", {}),
                }
                | each["told"]
            )
    measured = [
        {
            "rows": rows,
            "steps": each.get("timed", sum(len(tape["wall_ns"]) for tape in document["tapes"])),
            "compared": each["compared"],
            "sidecar": sidecar(folder, document),
            "moved": each["moved"][rows],
        }
        for rows, document in each["readings"].items()
    ]
    return {"observe": observed, "measure": measured}


def sidecar(folder: Path, document: dict[str, Any]) -> dict[str, str]:
    """Write a sidecar unchecked, so that a test can write a wrong one."""
    data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    path = folder / f"{document['kind']}-{digest(data)[:8]}.json"
    path.write_bytes(data)
    return {"name": path.name, "sha256": digest(data)}


def spoiled(spoil: Callable[[Parts], Any], **other: Any) -> Parts:
    """A sound window's parts after one thing has been done to them."""
    built = parts(**other)
    spoil(built)
    return built
