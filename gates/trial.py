"""Gates are tried before they are trusted: on made-up outputs, by the code that will judge the real ones.

A gate that looks at values must accept the control against itself, and reject zeros, a shuffled output and the output
of the step before. One that lets such a thing through is vacuous, and so is a card without any such gate.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from json import dumps, loads
from struct import pack, unpack
from typing import Any

from gates import distance
from gates.evidence import Arm, Observed, Window
from gates.judge import judge

VALUES = ("bits", "drift", "tokens", "ulp")  # the gates that look at values
FAULTS = ("zeros", "a shuffled output", "the output of the step before")
DTYPES = ("bf16", "f32")  # of sites' outputs; a bar in ulp means another thing in each
VOCABULARY = 16
TAPES, STEPS = 2, 2
SMALL = 1e-6  # what a site's outputs may be as small as; a bar in ulp that zeros meet there is none
SITE = "made_up"

Rows = list[list[float]]
Outputs = list[list[Rows]]  # by tape and step


@dataclass(frozen=True)
class Vacuous:
    """A gate, by its index in the card, that cannot tell what it should."""

    index: int | None
    says: str


def vacuous(meaning: Mapping[str, Any]) -> Vacuous | None:
    """The first gate of a card's profile that fails its trial, or None; `index` is None where no gate sees values."""
    gates = meaning["gates"]
    for index, gate in enumerate(gates):
        says = _failing_once(dumps([gate, meaning["workload"]])) if gate["gate"] in VALUES else None
        if says:
            return Vacuous(index, says)
    if meaning["instrument"] != "script" and not any(gate["gate"] in VALUES for gate in gates):
        return Vacuous(None, f"no gate looks at values, so {FAULTS[0]} would pass; add one of {', '.join(VALUES)}")
    return None


@cache
def _failing_once(asked: str) -> str | None:
    return _failing(*loads(asked))


def _failing(gate: Mapping[str, Any], workload: Mapping[str, Any]) -> str | None:
    rows = max(workload.get("rows", [6]))
    gate = _scaled(gate, workload.get("observe", {"tapes": 8, "new_tokens": 16}), TAPES * STEPS * rows)
    for dtype in DTYPES if gate["gate"] == "ulp" else DTYPES[:1]:
        outputs = _outputs(rows)
        own = judge(gate, _window(gate, workload, outputs, outputs, dtype))
        if own.finding != "met":
            return f"vacuous: it does not accept the control against itself ({own.says})"
        for fault, spoiled in zip(FAULTS, _spoiled(outputs), strict=True):
            if judge(gate, _window(gate, workload, outputs, spoiled, dtype)).finding == "met":
                where = f" in {dtype}" if gate["gate"] == "ulp" else ""
                return f"vacuous: it lets {fault} through{where}; set a bar that {fault} cannot meet"
    return None


def _scaled(gate: Mapping[str, Any], asked: Mapping[str, int], positions: int) -> Mapping[str, Any]:
    """A bar that counts positions, for as many as are made up here."""
    if "flips" not in gate:
        return gate
    return {**gate, "flips": gate["flips"] * positions // (asked["tapes"] * asked["new_tokens"])}


@cache
def _outputs(rows: int) -> Outputs:
    """Rows [R][V] of logit-like numbers for every tape and step, the same at every call."""
    draw = random.Random(1)
    return [
        [[[_f32(draw.gauss(0, 2)) for _ in range(VOCABULARY)] for _ in range(rows)] for _ in range(STEPS)]
        for _ in range(TAPES)
    ]


def _spoiled(outputs: Outputs) -> Iterator[Outputs]:
    """The outputs with each of FAULTS in every step."""
    yield [[[[0.0] * VOCABULARY for _ in rows] for rows in tape] for tape in outputs]
    yield [[[row[1:] + row[:1] for row in rows] for rows in tape] for tape in outputs]
    yield [tape[-1:] + tape[:-1] for tape in outputs]


def _window(
    gate: Mapping[str, Any], workload: Mapping[str, Any], control: Outputs, candidate: Outputs, dtype: str
) -> Window:
    counts = sorted(workload.get("rows", [6]), reverse=True)
    sidecars: dict[str, Mapping[str, Any]] = {}
    arms = {}
    for name, outputs in {"A": control, "A2": control, "B": candidate, "B2": candidate}.items():
        passes = tuple(_observed(rows, fill, outputs, sidecars) for rows in counts for fill in ("5a", "ff"))
        treats = name.startswith("B")
        arm = Arm(name, "treatment" if treats else "control", {}, 1, passes, (), {})
        if gate["gate"] == "drift":
            arm = replace(arm, forced=_forced(control, outputs, treats, sidecars))
        if treats:
            repeat = {"calls": gate.get("repeat", 0), "differing": 0, "first": None}
            beside = {SITE: _beside(control, candidate, dtype)} if gate["gate"] == "ulp" else {}
            arm = replace(arm, repeat=repeat, beside=beside)
        arms[name] = arm
    choices = {"control": {}, "candidate": {SITE: "made/up"}}
    return Window({"workload": {"rows": counts}, "choices": choices}, "turns", arms, sidecars)


def _observed(rows: int, fill: str, outputs: Outputs, sidecars: dict[str, Mapping[str, Any]]) -> Observed:
    tapes = [
        {"tape": str(at), "prompt": "", "steps": [_step(rows, n, step) for n, step in enumerate(tape)]}
        for at, tape in enumerate(outputs)
    ]
    for tape, steps in zip(tapes, outputs, strict=True):
        tape["state"] = _hex(steps)
    sidecar = {"kind": "observe", "rows": rows, "tapes": tapes}
    name = f"observe {_hex(outputs)} {rows}"
    sidecars[name] = sidecar
    count = sum(len(tape) for tape in outputs)
    return Observed(rows, fill, len(tapes), count, rows * count, name, None, count, {}, {})


def _step(rows: int, number: int, output: Rows) -> dict[str, Any]:
    argmax = [_top(row) for row in output[:rows]]
    return {
        "position": number * rows,
        "fed": [0] * rows,
        "logits": [_hex(row) for row in output[:rows]],
        "argmax": argmax,
        "margin_ulp": [_margin(row) for row in output[:rows]],
        "accepted": rows - 1,
        "kept": rows,
        "emitted": argmax,
        "drafts": [],
    }


def _forced(control: Outputs, own: Outputs, treats: bool, sidecars: dict[str, Mapping[str, Any]]) -> str:
    """The control's own choices as forced tokens, said by `own`, and by the control beside it in the candidate."""
    tapes = []
    for at, (ours, theirs) in enumerate(zip(control, own, strict=True)):
        rows, others = ([row for step in steps for row in step] for steps in (theirs, ours))
        tokens = [_top(row) for row in others]
        against = {**_said(tokens, others), "kl_nano": [_kl_nano(p, q) for p, q in zip(others, rows, strict=True)]}
        pair = {"parent": against, "reference": against} if treats else {}
        tapes.append({"tape": str(at), "token": tokens, **_said(tokens, rows), "against": pair})
    name = f"forced {_hex(own)} {treats}"
    sidecars[name] = {"kind": "forced", "tapes": tapes}
    return name


def _said(tokens: Sequence[int], rows: Rows) -> dict[str, Any]:
    said = [round(1e9 * _logprobs(row)[token]) for token, row in zip(tokens, rows, strict=True)]
    return {"logprob_nano": said, "top": [_top(row) for row in rows], "logits": [_hex(row) for row in rows]}


def _logprobs(row: Sequence[float]) -> list[float]:
    total = math.log(math.fsum(math.exp(value) for value in row))
    return [value - total for value in row]


def _kl_nano(other: Sequence[float], own: Sequence[float]) -> int:
    p, q = _logprobs(other), _logprobs(own)
    return round(1e9 * math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q, strict=True)))


def _beside(control: Outputs, candidate: Outputs, dtype: str) -> dict[str, Any]:
    """The outputs compared in a dtype, as a worker tells it."""
    flat = [
        (_bits(SMALL * a, dtype), _bits(SMALL * b, dtype))
        for ours, theirs in zip(control, candidate, strict=True)
        for mine, other in zip(ours, theirs, strict=True)
        for x, y in zip(mine, other, strict=True)
        for a, b in zip(x, y, strict=True)
    ]
    gaps = [distance.ulps(a, b, dtype) for a, b in flat]
    most = None if None in gaps else max(gap for gap in gaps if gap is not None)
    return {"compared": len(flat), "differing": sum(a != b for a, b in flat), "max_ulp": most, "first": None}


def _top(row: Sequence[float]) -> int:
    return max(range(len(row)), key=lambda index: (row[index], -index))


def _margin(row: Sequence[float]) -> int | None:
    second, first = sorted(row)[-2:]
    return distance.ulps(_bits(first, "f32"), _bits(second, "f32"), "f32")


def _bits(value: float, dtype: str) -> int:
    bits: int = unpack(">I", pack(">f", value))[0]
    return bits >> 16 if dtype == "bf16" else bits


def _f32(value: float) -> float:
    rounded: float = unpack(">f", pack(">f", value))[0]
    return rounded


def _hex(value: Any) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]
