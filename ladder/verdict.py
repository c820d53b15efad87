"""The verdict: a pure function of what a window left, the same to the byte whenever it is computed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gates.finding import Finding
from gates.judge import judge
from ladder import checkout, records
from ladder.errors import LadderError
from ladder.names import check
from ladder.records import BadRecord, Record
from ladder.soundness import Case, Reason, reasons

SCORER = "1"
SCRIPT = "script: not a measurement"


class UnknownWindow(LadderError):
    """The rung has no window of this name, or the window no start that can be read."""


def grade(root: Path, rung: str, window: str) -> tuple[dict[str, Any], Path]:
    """Grade a window's facts and keep the verdict beside them; a verdict that stands there already is left alone."""
    verdict = score(gather(root, rung, window))
    record = records.write_named(_folder(root, rung, window), verdict)
    return verdict, record.path


def score(case: Case) -> dict[str, Any]:
    """The verdict record of a window: every gate's finding, the outcome, and the reasons for it.

    INVALID where anything voids the window or a gate cannot be judged; else FAIL where a gate is unmet; else
    INCONCLUSIVE where a gate is undecided for noise; PASS where all are met. Findings of a void window are kept for
    the reader and decide nothing.
    """
    start = case.start.value
    void = reasons(case)
    findings = [(gate, judge(gate, case.window())) for gate in case.meaning["gates"]]
    outcome, why = decide(void, [finding for _, finding in findings])
    seen = [case.start, *([case.registration] if case.registration else []), *case.receipts.values()]
    return {
        "record": "verdict",
        "format": 1,
        "prev": sorted(record.sha256 for record in seen),
        "at": start["at"],
        "scorer": SCORER,
        "rung": start["rung"],
        "profile": start["profile"],
        "window": case.start.d8,
        "start": case.start.sha256,
        "registration": start["registration"],
        "receipts": {name: record.sha256 for name, record in case.receipts.items()},
        "outcome": outcome,
        "reasons": [{"code": reason.code, "says": reason.says} for reason in why],
        "findings": [_as_record(gate, finding) for gate, finding in findings],
        **({"note": SCRIPT} if start["instrument"] == "script" else {}),
    }


def decide(void: list[Reason], findings: list[Finding]) -> tuple[str, list[Reason]]:
    """The outcome of a window and the reasons that carry it."""
    void = [*void, *(_reason(each) for each in findings if each.finding == "void" and not each.is_undecided)]
    if not findings:
        void.append(Reason("no_gates", "no gate was asked, so nothing was found"))
    if void:
        return "INVALID", list(dict.fromkeys(void))
    unmet = [_reason(each) for each in findings if each.finding == "unmet"]
    if unmet:
        return "FAIL", unmet
    undecided = [_reason(each) for each in findings if each.is_undecided]
    return ("INCONCLUSIVE", undecided) if undecided else ("PASS", [])


def gather(root: Path, rung: str, window: str, arms: list[str] | None = None) -> Case:
    """What a window left on disk; with `arms`, as if only these had left a receipt."""
    folder = _folder(root, rung, window)
    try:
        start = records.load(folder / "start.json")
    except BadRecord as error:
        raise UnknownWindow(f"receipts/{rung}/{window}: {error}") from None
    if start.kind != "start" or start.d8 != window:
        raise UnknownWindow(f"receipts/{rung}/{window}/start.json does not have the digest that its folder is named by")
    unread: list[Reason] = []
    registration = _registration(folder.parent, start, unread)
    receipts = dict(_receipts(folder, start, arms, unread))
    case = Case(start, registration, receipts, {}, ())
    sidecars = dict(_sidecars(folder, receipts, unread))
    return replace(case, sidecars=sidecars, unread=tuple(unread))


def _folder(root: Path, rung: str, window: str) -> Path:
    folder = checkout.receipts_folder(root, rung) / check("window", window)
    if not (folder / "start.json").is_file():
        raise UnknownWindow(f"no window {window} under receipts/{rung}/: `ladder show {rung}` lists them")
    return folder


def _registration(folder: Path, start: Record, unread: list[Reason]) -> Record | None:
    sha256 = start.value["registration"]
    if sha256 is None:
        return None
    path = folder / f"registration-{records.d8(sha256)}.json"
    try:
        record = records.load(path)
    except BadRecord as error:
        unread.append(Reason("registration_missing", f"the registration cannot be read: {error}"))
        return None
    if record.sha256 != sha256 or record.kind != "registration":
        unread.append(Reason("registration_changed", f"{path.name} is not the registration that the window names"))
        return None
    return record


def _receipts(
    folder: Path, start: Record, arms: list[str] | None, unread: list[Reason]
) -> Iterator[tuple[str, Record]]:
    lying = [path.stem for path in folder.glob("*.json") if records.is_arm(path)]
    for name in sorted({*lying, *start.value["arms"]} if arms is None else arms):
        path = folder / f"{name}.json"
        if not path.exists() and not path.is_symlink():
            continue  # a missing arm has its own reason
        try:
            record = records.load(path)
        except LadderError as error:
            unread.append(Reason("receipt_broken", f"arm {name}'s receipt cannot be read: {error}"))
            continue
        if record.kind == "receipt":
            yield name, record
        else:
            unread.append(Reason("receipt_broken", f"{path.name} is a {record.kind}, not a receipt"))


def _sidecars(
    folder: Path, receipts: Mapping[str, Record], unread: list[Reason]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each sidecar that a receipt names, by sha256, where its bytes and its shape are what the receipt says."""
    for arm, record in receipts.items():
        for kind, rows, reference in named_sidecars(record.value):
            try:
                value = records.read_sidecar(folder, reference)
                records.check_sidecar(reference["name"], value)
            except records.SidecarChanged as error:
                unread.append(Reason("sidecar_changed", f"arm {arm}: {error}"))
            except BadRecord as error:
                broken = "bad_reading" if kind == "readings" else "sidecar_broken"
                missing = not (folder / reference["name"]).is_file()
                unread.append(Reason("sidecar_missing" if missing else broken, f"arm {arm}: {error}"))
            else:
                if (value["kind"], value["rows"]) == (kind, rows):
                    yield reference["sha256"], value
                else:
                    says = f"{reference['name']} is not of kind {kind} at {rows} rows"
                    unread.append(Reason("sidecar_broken", f"arm {arm}: {says}"))


def named_sidecars(receipt: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, str]]]:
    """The sidecars that a receipt names: kind, row count, and `name` with `sha256`."""
    for item in receipt["observe"]:
        yield "observe", item["rows"], item["sidecar"]
        if item["sites"]:
            yield "sites", item["rows"], item["sites"]
    for item in receipt["measure"]:
        yield "readings", item["rows"], item["sidecar"]


def _as_record(gate: Mapping[str, Any], finding: Finding) -> dict[str, Any]:
    return {
        "gate": finding.gate,
        "primary": bool(gate.get("primary", False)),
        "finding": finding.finding,
        "code": finding.code,
        "says": finding.says,
        "numbers": dict(finding.numbers),
    }


def _reason(finding: Finding) -> Reason:
    return Reason(finding.code or f"{finding.gate}_{finding.finding}", f"{finding.gate}: {finding.says}")
