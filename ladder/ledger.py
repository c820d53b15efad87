"""The ledger: every record there is, rendered oldest first, and checked against itself."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gates.digest import digest
from ladder import git, records, standing, verdict, window
from ladder.errors import LadderError
from ladder.names import real_folder
from ladder.records import Broken, Record
from ladder.standing import Standing

NAME = "LEDGER.md"
HEAD = "# Ledger\n\nRendered from `receipts/` by `ladder ledger`; never typed, never merged.\n"
NAMED = frozenset({"registration", "verdict"})  # kinds whose files are named by digest


def render(root: Path) -> str:
    """The ledger as text: record count and heads, each rung's standing, then every record, oldest first."""
    return _render(*records.survey(root))


def check(root: Path) -> list[str]:
    """Everything that is edited, renamed, missing, too many, cut short, graded otherwise, or rendered long ago.

    A head that was deleted before anyone committed it, with LEDGER.md rendered anew, leaves no trace.
    """
    found, broken = records.survey(root)
    problems = [f"{_place(root, each.path)}: {each.says}" for each in broken]
    known = {record.sha256 for record in found}
    for record in found:
        problems += [f"{_place(root, record.path)}: {says}" for says in _record_problems(record, known)]
    problems += _window_problems(root, found)
    problems += _lost(root)
    problems += _rendered_problems(root, found, broken)
    return list(dict.fromkeys(problems))


def _lost(root: Path) -> Iterator[str]:
    """Files under `receipts/` that the last commit holds and the folder does not."""
    told = git.ask(root, "ls-files", "-z", "--deleted", "--", "receipts") or b""
    staged = git.ask(root, "diff", "--cached", "--name-only", "-z", "--diff-filter=D", "HEAD", "--", "receipts") or b""
    for path in sorted({*told.split(b"\0"), *staged.split(b"\0")} - {b""}):
        yield f"{path.decode('utf-8', 'replace')}: is committed, and is gone: `git restore` brings it back"


def _place(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _record_problems(record: Record, known: set[str]) -> Iterator[str]:
    value, path = record.value, record.path
    if record.kind in NAMED and path.name != f"{record.kind}-{record.d8}.json":
        yield f"is edited or renamed: its digest names it {record.kind}-{record.d8}.json"
    if record.kind == "start" and path.parent.name != record.d8:
        yield f"is edited, or its folder renamed: its digest names the window {record.d8}"
    yield from _misplaced(record)
    for sha256 in value["prev"]:
        if sha256 not in known:
            yield f"has seen record {sha256[:8]}, which is missing or edited"
    for what, sha256 in _references(value):
        if sha256 not in known:
            yield f"stands on {what} {sha256[:8]}, which is missing or edited"


def _misplaced(record: Record) -> Iterator[str]:
    value, path = record.value, record.path
    expected = {
        "registration": path.name.startswith("registration-") and path.parent.parent.name == "receipts",
        "start": path.name == "start.json",
        "receipt": path.stem == value.get("arm") and path.parent.name == value.get("window"),
        "verdict": path.name.startswith("verdict-") and path.parent.name == value.get("window"),
    }
    rung = path.parent.name if record.kind == "registration" else path.parent.parent.name
    if not expected[record.kind] or rung != value["rung"]:
        yield f"is a {record.kind} of {value['rung']}, and does not belong here"


def _references(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if value["record"] in {"start", "verdict"} and value["registration"]:
        yield "registration", value["registration"]
    if value["record"] in {"receipt", "verdict"}:
        yield "start", value["start"]
    if value["record"] == "verdict":
        yield from ((f"receipt {arm}", sha256) for arm, sha256 in value["receipts"].items())


def _window_problems(root: Path, found: list[Record]) -> Iterator[str]:
    """What is wrong in each window's folder taken as a whole: sidecars, strangers, and verdicts graded anew."""
    by_folder: dict[Path, list[Record]] = {}
    for record in found:
        if record.kind != "registration":
            by_folder.setdefault(record.path.parent, []).append(record)
    for rung in records.folders(real_folder(root / "receipts")):
        yield from (f"{_place(root, path)}: is no record" for path in _strangers(rung, {each.path for each in found}))
        for folder in records.folders(rung):
            held = by_folder.get(folder, [])
            if not (folder / "start.json").is_file():
                yield f"{_place(root, folder)}: has no start.json: no window was opened here"
            yield from (f"{_place(root, folder)}/{says}" for says in _sidecar_problems(folder, held))
            for record in (each for each in held if each.kind == "verdict"):
                yield from (f"{_place(root, record.path)}: {says}" for says in _graded_otherwise(root, record))


def _strangers(folder: Path, known: set[Path]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path not in known and not path.is_dir() and not _is_temporary(path) and not records.is_record_name(path):
            yield path


def _is_temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(".tmp")


def _sidecar_problems(folder: Path, held: list[Record]) -> Iterator[str]:
    named: dict[str, str] = {}
    for record in (each for each in held if each.kind == "receipt"):
        for reference in window.references(record.value):
            named[reference["name"]] = reference["sha256"]
    for name, sha256 in sorted(named.items()):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            yield f"{name}: is missing, and a receipt names it"
        elif digest(path.read_bytes()) != sha256:
            yield f"{name}: is edited or cut short: its sha256 is not the one that its receipt names"
    for path in _strangers(folder, {each.path for each in held}):
        if path.name not in named:
            yield f"{path.name}: is extra: no receipt names it"


def _graded_otherwise(root: Path, record: Record) -> Iterator[str]:
    """Grade again what a verdict has seen; receipts that came later are for a later verdict."""
    if record.value["scorer"] != verdict.SCORER:
        yield f"was graded by scorer {record.value['scorer']}, which this version cannot run"
        return
    try:
        found = window.load(root, record.value["rung"], record.path.parent.name)
    except LadderError as error:
        yield f"cannot be graded again: {error}"
        return
    seen = {arm: each for arm, each in found.receipts.items() if arm in record.value["receipts"]}
    if seen.keys() != found.receipts.keys():
        found = replace(found, receipts=seen, sidecars=window.Sidecars(found.folder, seen))
    again = verdict.judge(found)
    if records.encode(again) != record.path.read_bytes():
        yield f"does not follow from its receipts: they give {again['outcome']}, it says {record.value['outcome']}"


def _rendered_problems(root: Path, found: list[Record], broken: list[Broken]) -> Iterator[str]:
    path = root / NAME
    if not path.is_file():
        if found or broken:
            yield f"{NAME}: is missing: `ladder ledger` renders it"
    elif path.read_bytes() != _render(found, broken).encode("utf-8"):
        yield f"{NAME}: is out of date, or was typed in: `ladder ledger` renders it anew"


def _render(found: list[Record], broken: list[Broken]) -> str:
    heads = records.heads_of(found)
    count = f"{len(found)} record{'' if len(found) == 1 else 's'}; heads: {', '.join(heads) or 'none'}"
    lines = [HEAD, count, ""]
    if broken:
        lines += [f"{len(broken)} broken: {', '.join(f'`{each.path.name}`' for each in broken)}", ""]
    standings = standing.standings(found)
    if standings:
        lines += ["## Standing", "", "| rung | profile | standing | |", f"{'|---' * 4}|"]
        lines += [_row(each.rung, each.profile, each.outcome, each.says) for each in standings]
        lines += [""]
    if found:
        lines += ["## Records", "", "| at | rung | profile | window | record | digest | |", f"{'|---' * 7}|"]
        lines += [_record_row(record) for record in found]
        lines += [""]
    return "\n".join(lines)


def _record_row(record: Record) -> str:
    value = record.value
    name = {"start": record.d8}.get(record.kind, value.get("window", ""))
    kind = f"receipt {value['arm']}" if record.kind == "receipt" else record.kind
    return _row(value["at"], value["rung"], value["profile"], name, kind, record.d8, _says(record))


def _says(record: Record) -> str:
    value = record.value
    if record.kind == "registration":
        return f"revision {value['revision']}" + (f": {value['why']}" if value.get("why") else "")
    if record.kind == "start":
        return f"exploratory: {'; '.join(value['exploratory'])}" if value["exploratory"] else "opened"
    if record.kind == "receipt":
        return f"{value['role']}, {value['ended'].replace('_', ' ')}"
    primary = next((each["says"] for each in value["findings"] if each["primary"]), "")
    because = "; ".join(f"{each['code']}: {each['says']}" for each in value["reasons"])
    return f"**{value['outcome']}** {because or primary}" + (f" ({value['note']})" if "note" in value else "")


def _row(*cells: str) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Text that cannot end its cell, its row, or begin markup of its own."""
    one_line = " ".join(text.split())
    return re.sub(r"([\\|<>\[\]`])", r"\\\1", one_line)


def standings(root: Path) -> list[Standing]:
    """Where every rung stands, from all records."""
    return standing.standings(records.scan(root))
