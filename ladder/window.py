"""A window as it lies on disk: its start, its registration, its arms' receipts, and their sidecars."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gates import evidence
from gates.digest import digest
from gates.finding import Unjudged
from ladder import checkout, records
from ladder.errors import LadderError
from ladder.names import check, real_folder
from ladder.records import BadRecord, Record


class NoWindow(LadderError):
    """No window of this name was opened for the rung."""


class Sidecars(Mapping[str, Mapping[str, Any]]):
    """The sidecars that a window's receipts name, by sha256: hashed at once, parsed when asked for.

    `troubles` lists, as code and line, those that are not there, whose bytes are others, or that are not what their
    receipt takes them for. The large `sites` are parsed only when a difference is looked for.
    """

    def __init__(self, folder: Path, receipts: Mapping[str, Record]) -> None:
        self._folder = folder
        named = [each for record in receipts.values() for each in _named(record.value)]
        self._named = {reference["sha256"]: (kind, rows, reference) for kind, rows, reference in named}
        self._parsed: dict[str, Mapping[str, Any]] = {}
        self.troubles = list(dict.fromkeys(trouble for each in named if (trouble := self._trouble(*each))))

    def __getitem__(self, sha256: str) -> Mapping[str, Any]:
        if sha256 not in self._parsed:
            self._parsed[sha256] = self._parse(*self._named[sha256])
        return self._parsed[sha256]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def _parse(self, kind: str, rows: int, reference: Mapping[str, str]) -> Mapping[str, Any]:
        name = reference["name"]
        try:
            value = records.read_sidecar(self._folder, reference)
            records.check_sidecar(name, value)
        except BadRecord as error:
            raise Unjudged("bad_reading" if kind == "readings" else "sidecar_broken", str(error)) from None
        if (value["kind"], value["rows"]) != (kind, rows):
            raise Unjudged("sidecar_broken", f"{name} is {value['kind']} at {value['rows']} rows, not {kind} at {rows}")
        return value

    def _trouble(self, kind: str, rows: int, reference: Mapping[str, str]) -> tuple[str, str] | None:
        path = self._folder / reference["name"]
        if path.is_symlink() or not path.is_file():
            return "sidecar_missing", f"{path.name} is not there"
        found = digest(path.read_bytes())
        if found != reference["sha256"]:
            return "sidecar_differs", f"{path.name} has sha256 {found[:8]}, its receipt says {reference['sha256'][:8]}"
        try:
            if kind != "sites":
                self[reference["sha256"]]
        except Unjudged as trouble:
            return trouble.code, trouble.says
        return None


@dataclass(frozen=True)
class Found:
    """All that one window left, read and checked file by file; `broken` names the receipts that are none."""

    folder: Path
    start: Record
    registration: Record | None
    receipts: Mapping[str, Record]
    sidecars: Sidecars
    broken: tuple[str, ...]

    @property
    def name(self) -> str:
        """The window's name: its folder's."""
        return self.folder.name

    @property
    def evidence(self) -> evidence.Window:
        """What the gates are asked of."""
        return evidence.Window(
            meaning=self.start.value["meaning"],
            design=self.start.value["design"],
            arms={name: evidence.arm(record.value) for name, record in self.receipts.items()},
            sidecars=self.sidecars,
        )


def load(root: Path, rung: str, window: str) -> Found:
    """The window as it lies on disk; NoWindow where it was never opened, BadRecord where its start is broken."""
    folder = real_folder(checkout.receipts_folder(root, rung) / check("window", window))
    if not folder.is_dir():
        raise NoWindow(f"no window {window} under receipts/{rung}/: `ladder show {rung}` lists them")
    start = records.load(folder / "start.json")
    if start.kind != "start":
        raise BadRecord(f"start.json: is a {start.kind}, not a start")
    receipts, broken = _receipts(folder)
    return Found(
        folder=folder,
        start=start,
        registration=_registration(folder.parent, start.value["registration"]),
        receipts=receipts,
        sidecars=Sidecars(folder, receipts),
        broken=tuple(broken),
    )


def references(receipt: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """Every sidecar that a receipt names, as `name` and `sha256`."""
    for _, _, reference in _named(receipt):
        yield reference


def _named(receipt: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, str]]]:
    """Every sidecar with the kind and the row count that the receipt takes it for."""
    for item in receipt["observe"]:
        yield "observe", item["rows"], item["sidecar"]
        if item["sites"]:
            yield "sites", item["rows"], item["sites"]
    for item in receipt["measure"]:
        yield "readings", item["rows"], item["sidecar"]
    if forced := receipt.get("forced"):
        yield "forced", forced["rows"], forced


def _receipts(folder: Path) -> tuple[dict[str, Record], list[str]]:
    found: dict[str, Record] = {}
    broken = []
    for path in sorted(folder.glob("[A-Z]*.json")):
        try:
            record = records.load(path)
        except LadderError as error:
            broken.append(str(error))
            continue
        if record.kind == "receipt" and record.value["arm"] == path.stem:
            found[path.stem] = record
        else:
            broken.append(f"{path.name}: is not the receipt of arm {path.stem}")
    return found, broken


def _registration(folder: Path, sha256: str | None) -> Record | None:
    """The registration with this digest; None where there is none, or where its bytes are others."""
    if sha256 is None:
        return None
    try:
        record = records.load(folder / f"registration-{sha256[:8]}.json")
    except BadRecord:
        return None
    return record if record.sha256 == sha256 and record.kind == "registration" else None
