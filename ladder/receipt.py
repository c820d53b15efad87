"""An arm's receipt: what its process told and how it ended, as facts, whatever state it was left in."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ladder import records, window
from ladder.arm import Arm
from ladder.moment import now
from ladder.records import BadRecord, Record

Message = dict[str, Any]
SCRIPT = "script: not a measurement"
SPOILED = (BadRecord, AttributeError, KeyError, TypeError, ValueError)


def write(start: Record, arm: Arm, code: Mapping[str, str], opened_ns: int) -> Record:
    """Write the receipt of an arm that has ended, and its sidecars; what is malformed in it becomes a trouble."""
    folder = start.path.parent
    trouble = [{"code": each["code"], "says": _plain(each["says"], arm.root)} for each in arm.trouble]
    value = _empty(start, arm, trouble)
    measured: dict[int, Message] = {}
    value["measure"] = measured  # by rows until all turns are in
    for kind, part in PARTS.items():
        for told in [reply for reply in arm.replies if reply["did"] == kind]:
            try:
                part(value, told, folder, opened_ns)
            except SPOILED as error:
                trouble.append({"code": "bad_answer", "says": f"its answer to {kind}: {_plain(str(error), arm.root)}"})
    value["measure"] = [each for each in measured.values() if _is_kept(each, folder, trouble, arm.root)]
    if arm.spent_s.get("passes"):
        value["process"] = {**value["process"], "passes_ns": int(arm.spent_s["passes"] * 1e9)}
    trouble += _unregistered(value["loaded"], code)
    path = folder / f"{arm.name}.json"
    try:
        return records.write(path, value)
    except BadRecord as error:
        for name in {each["name"] for each in _sidecars(value)} - _named_by_others(folder):
            (folder / name).unlink(missing_ok=True)
        says = f"its answers make no receipt: {_plain(str(error), arm.root)}"
        return records.write(path, _empty(start, arm, [*trouble, {"code": "bad_answer", "says": says}]))


def _sidecars(value: Message) -> Iterator[Mapping[str, str]]:
    """The sidecars that were written for a receipt, as far as it came."""
    for item in (*value["observe"], *value["measure"]):
        yield from (each for each in (item.get("sidecar"), item.get("sites")) if each)
    if "forced" in value:
        yield value["forced"]


def _named_by_others(folder: Path) -> set[str]:
    """Sidecars that receipts written before this one stand on: equal ones are one file."""
    others = [records.load(path).value for path in folder.glob("[A-Z]*.json")]
    return {each["name"] for other in others for each in window.references(other)}


def _empty(start: Record, arm: Arm, trouble: list[dict[str, str]]) -> Message:
    """What is known of an arm even if it never said a word."""
    return {
        "record": "receipt",
        "format": 1,
        "prev": [start.sha256],
        "at": now(),
        "rung": start.value["rung"],
        "profile": start.value["profile"],
        "window": start.d8,
        "start": start.sha256,
        "arm": arm.name,
        "role": arm.planned.role,
        "passes": list(arm.planned.passes),
        "choices": dict(arm.planned.choices),
        "kernels": {},
        "loaded": {},
        "machine": {},
        "software": {},
        "conditions": {},
        "process": {},
        "model": None,
        "observe": [],
        "measure": [],
        "beside": {},
        "compiles_in_range": 0,
        "foreign_bytes": arm.foreign_bytes,
        "trouble": trouble,
        "ended": arm.ended,
        **({"note": SCRIPT} if start.value["instrument"] == "script" else {}),
    }


def _boot(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    for key in ("kernels", "loaded", "machine", "software", "process", "model"):
        value[key] = told[key]
    value["conditions"] = {f"boot_{key}": fact for key, fact in told["conditions"].items()}


def _observe(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    kept = records.write_sidecar(folder, "observe", told["sidecar"])
    sites = records.write_sidecar(folder, "sites", told["sites"]) if told["sites"] else None
    value["observe"].append({**told["item"], "sidecar": kept, "sites": sites})
    value["process"] |= told.get("process", {})


def _beside(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    value["beside"] = told["beside"]


def _force(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    kept = records.write_sidecar(folder, "forced", told["sidecar"])
    value["forced"] = {**kept, "rows": told["sidecar"]["rows"]}


def _repeat(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    value["repeat"] = told["repeat"]


def _soak(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    value["soak"] = told["soak"]


def _measure(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    rows = told["asked"]["rows"]
    empty = {"rows": rows, "steps": 0, "compared": 0, "moved": {"tokens": False, "logits": False}, "tapes": []}
    item = value["measure"].setdefault(rows, empty)
    began_ns, ended_ns = told["began_ns"] - opened_ns, told["ended_ns"] - opened_ns
    item["began_ns"] = min(item.get("began_ns", began_ns), began_ns)
    item["ended_ns"] = max(item.get("ended_ns", ended_ns), ended_ns)
    item["steps"] += len(told["wall_ns"])
    item["compared"] += told["compared"]
    item["moved"] = {key: item["moved"][key] or told["moved"][key] for key in ("tokens", "logits")}
    item["tapes"].append(
        {
            "tape": told["tape"],
            "turn": told["asked"]["turn"],
            "skip": told["asked"]["skip"],
            "wall_ns": told["wall_ns"],
            "cpu_ns": told["cpu_ns"],
        }
    )
    value["compiles_in_range"] += told["compiles"]


def _close(value: Message, told: Message, folder: Path, opened_ns: int) -> None:
    value["loaded"] = {**value["loaded"], **told["loaded"]}
    value["process"] = {**value["process"], "peak_bytes": told["peak_bytes"]}
    value["conditions"] |= {f"close_{key}": fact for key, fact in told["conditions"].items()}


PARTS = {
    "boot": _boot,
    "observe": _observe,
    "beside": _beside,
    "force": _force,
    "repeat": _repeat,
    "soak": _soak,
    "measure": _measure,
    "close": _close,
}


def _is_kept(item: Message, folder: Path, trouble: list[dict[str, str]], root: Path) -> bool:
    """Write a measure pass's readings beside the receipt; a pass whose readings are none is left out."""
    readings = {"kind": "readings", "unit": "ns", "rows": item["rows"], "tapes": item.pop("tapes")}
    try:
        item["sidecar"] = records.write_sidecar(folder, "readings", readings)
    except SPOILED as error:
        trouble.append({"code": "bad_answer", "says": f"its readings: {_plain(str(error), root)}"})
        return False
    return True


def _unregistered(loaded: Mapping[str, str], code: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Project files that the process loaded and the plan's closure does not hold, or holds otherwise."""
    for path, sha256 in loaded.items():
        if code.get(path) != sha256:
            says = "changed since the window was opened" if path in code else "is not in reach of the plan's imports"
            yield {"code": "unregistered_code", "says": f"it loaded {path}, which {says}"}


def _plain(says: str, root: Path) -> str:
    """One line that names no folder outside the checkout, at most 300 characters."""
    says = " ".join(says.replace(f"{root}/", "").split())
    return re.sub(r"(?<![\w.])~?/(?:[^\s/:'\"]+/)+", "", says)[:300]
