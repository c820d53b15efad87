"""Records: what was written once, named by the digest of its bytes, and is never changed."""

import contextlib
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gates.digest import digest
from ladder import schema
from ladder.errors import LadderError
from ladder.names import PATTERNS, real_folder

FACTS = frozenset({"start", "registration", "receipt"})  # no floats, but in the card's own `meaning`
KINDS = FACTS | {"verdict"}
SIDECARS = frozenset({"observe", "sites", "forced", "readings"})


class BadRecord(LadderError):
    """A record or sidecar that cannot be written or read as one; the text names the file and the key."""


class SidecarChanged(BadRecord):
    """A sidecar's bytes are not those that its receipt names."""


class AlreadyWritten(LadderError):
    """A record of this name exists: nothing is overwritten."""


@dataclass(frozen=True)
class Record:
    """One record as it lies on disk."""

    path: Path
    sha256: str
    value: Mapping[str, Any] = field(repr=False)

    @property
    def kind(self) -> str:
        """start, registration, receipt or verdict."""
        return str(self.value["record"])

    @property
    def d8(self) -> str:
        """The digest's first 8 hex digits."""
        return d8(self.sha256)


@dataclass(frozen=True)
class Broken:
    """A file that stands where a record should and is none."""

    path: Path
    says: str


def d8(sha256: str) -> str:
    """The first 8 hex digits, which name a record among its like."""
    return sha256[:8]


def encode(value: Mapping[str, Any]) -> bytes:
    """A record's bytes: sorted keys, two spaces, one item a line, a newline at the end."""
    return _dump(value, indent=2)


def encode_sidecar(value: Mapping[str, Any]) -> bytes:
    """A sidecar's bytes: sorted keys, no spaces, one line."""
    return _dump(value, separators=(",", ":"))


def write(path: Path, value: Mapping[str, Any]) -> Record:
    """Write a record whole or not at all; refuse one that exists, whatever it says."""
    data = _checked(path.name, value)
    _put(path, data)
    return Record(path, digest(data), value)


def write_named(folder: Path, value: Mapping[str, Any]) -> Record:
    """Write a record as `<kind>-<d8>.json`; the same record written before is left as it is."""
    data = _checked(str(value.get("record")), value)
    path = folder / f"{value['record']}-{d8(digest(data))}.json"
    if not (path.is_file() and not path.is_symlink() and path.read_bytes() == data):
        _put(path, data)
    return Record(path, digest(data), value)


def write_start(rung_folder: Path, value: Mapping[str, Any]) -> Record:
    """Open a window: write `<d8>/start.json`, where d8 is of the start's own bytes."""
    data = _checked("start", value)
    path = rung_folder / d8(digest(data)) / "start.json"
    try:
        _put(path, data)
    except OSError:
        with contextlib.suppress(OSError):  # not empty: it was there before
            path.parent.rmdir()
        raise
    return Record(path, digest(data), value)


def write_sidecar(folder: Path, kind: str, value: Mapping[str, Any]) -> dict[str, str]:
    """Write a sidecar under its digest and give `name` and `sha256`; equal sidecars are one file."""
    if kind not in SIDECARS or value.get("kind") != kind:
        raise BadRecord(
            f"sidecar of kind {value.get('kind')!r}, given as {kind!r}: one of {', '.join(sorted(SIDECARS))}"
        )
    _refuse(kind, value, floats=False)
    data = encode_sidecar(value)
    path = folder / f"{kind}-{d8(digest(data))}.json"
    if not (path.is_file() and not path.is_symlink() and path.read_bytes() == data):
        _put(path, data)
    return {"name": path.name, "sha256": digest(data)}


def read(path: Path) -> dict[str, Any]:
    """The record in this file, read strictly and checked against its schema."""
    return deepcopy(dict(load(path).value))


def load(path: Path) -> Record:
    """The record in this file with its digest, read strictly and checked against its schema."""
    data = _bytes(path)
    return Record(path, digest(data), _whole(path.name, data))


@lru_cache(maxsize=4096)
def _whole(name: str, data: bytes) -> Mapping[str, Any]:
    """A record's bytes, parsed and checked once: a check of the ledger meets each several times."""
    value = parse(name, data)
    _validate(name, value)
    return value


def read_sidecar(folder: Path, reference: Mapping[str, str]) -> dict[str, Any]:
    """The sidecar that a receipt names by `name` and `sha256`, which its bytes must have."""
    path = folder / reference["name"]
    data = _bytes(path)
    if digest(data) != reference["sha256"]:
        raise SidecarChanged(
            f"{path.name}: sha256 is {d8(digest(data))}..., its receipt says {d8(reference['sha256'])}..."
        )
    return parse(path.name, data, floats=False)


def parse(name: str, data: bytes, *, floats: bool = True) -> dict[str, Any]:
    """One JSON object, strictly: UTF-8, no NaN or infinity in any spelling, no key given twice, floats if allowed."""
    bad: list[_Bad] = []
    try:
        value = json.loads(
            data.decode("utf-8"),
            parse_constant=lambda token: _noted(bad, _Bad(token)),
            parse_float=lambda text: _float(text, bad, floats),
            object_pairs_hook=lambda pairs: _object(pairs, bad),
        )
    except json.JSONDecodeError as error:
        keys = re.findall(r'"((?:[^"\\]|\\.)*)"\s*:', error.doc[: error.pos])
        near = f" near the key {keys[-1]!r}" if keys else ""
        raise BadRecord(f"{name}: not whole JSON{near} ({' '.join(str(error).split())})") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        says = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise BadRecord(f"{name}: not whole JSON ({says})") from None
    for path, leaf in _leaves(value) if bad else ():
        if isinstance(leaf, _Bad):
            raise BadRecord(f"{name}: {path or 'the value'} {leaf.says}")
    if not isinstance(value, dict):
        raise BadRecord(f"{name}: a JSON object is wanted, not {type(value).__name__}")
    return value


def survey(root: Path) -> tuple[list[Record], list[Broken]]:
    """Every record under `receipts/`, oldest first, and every file in a record's place that is none."""
    records, broken = [], []
    for path in _paths(root):
        try:
            records.append(load(path))
        except LadderError as error:
            broken.append(Broken(path, str(error)))
    return _ordered(records), broken


def scan(root: Path) -> list[Record]:
    """Every record under `receipts/`, each after those it saw, oldest first; a broken one is an error."""
    records, broken = survey(root)
    if broken:
        raise BadRecord(f"{broken[0].path.relative_to(root)}: {broken[0].says}")
    return records


def heads(root: Path) -> list[str]:
    """The digests of the records that no other record has seen, sorted."""
    return heads_of(scan(root))


def heads_of(records: list[Record]) -> list[str]:
    """The digests among these records that none of them names in `prev`, sorted."""
    seen = {each for record in records for each in record.value["prev"]}
    return sorted({record.sha256 for record in records} - seen)


@dataclass(frozen=True)
class _Bad:
    """What JSON or a record does not allow, kept until the walk finds its path."""

    token: str

    @property
    def says(self) -> str:
        return self.token if self.token.startswith("is ") else f"is {self.token}, which is not a finite number"


def _noted(bad: list[_Bad], found: _Bad) -> _Bad:
    bad.append(found)
    return found


def _float(text: str, bad: list[_Bad], allowed: bool) -> float | _Bad:
    number = float(text)
    if not math.isfinite(number):
        return _noted(bad, _Bad(text if len(text) <= 24 else text[:24] + "..."))
    return number if allowed else _noted(bad, _Bad(f"is the float {text[:24]}: facts hold integers"))


def _object(pairs: list[tuple[str, Any]], bad: list[_Bad]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        value[next(key for key in keys if keys.count(key) > 1)] = _noted(bad, _Bad("is given twice"))
    return value


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, str) or value is None:
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def _refuse(name: str, value: Mapping[str, Any], *, floats: bool) -> None:
    """Refuse what a record may not hold: NaN and infinities anywhere, and floats in facts."""
    for path, leaf in _leaves(value):
        if isinstance(leaf, float) and not math.isfinite(leaf):
            raise BadRecord(f"{name}: {path} is {leaf}: a number that is none is null, with a reason beside it")
        if isinstance(leaf, float) and not floats:
            raise BadRecord(f"{name}: {path} is the float {leaf!r}: facts hold integers, as ns, bytes or counts")
        if leaf is not None and not isinstance(leaf, str | int | float):
            raise BadRecord(f"{name}: {path} is a {type(leaf).__name__}, which JSON does not have")


def _dump(value: Mapping[str, Any], **spelling: Any) -> bytes:
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, **spelling)
        return (text + "\n").encode("utf-8")
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
        raise BadRecord(f"cannot be written as JSON: {error}") from None


def _checked(name: str, value: Mapping[str, Any]) -> bytes:
    _validate(name, value)
    return encode(value)


def _validate(name: str, value: Mapping[str, Any]) -> None:
    kind = value.get("record")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadRecord(f"{name}: record is {kind!r}: one of {', '.join(sorted(KINDS))}")
    if value.get("format") != 1:
        raise BadRecord(f"{name}: format is {value.get('format')!r}: this version reads format 1")
    if kind in FACTS:
        _refuse(name, {key: inner for key, inner in value.items() if key != "meaning"}, floats=False)
    _refuse(name, value, floats=True)
    _fits(name, value, str(kind))


def _fits(name: str, value: Mapping[str, Any], kind: str) -> None:
    for mistake in schema.mistakes(value, schema.named(kind)):
        raise BadRecord(f"{name}: {' '.join(mistake.split())[:240]}")


def check_sidecar(name: str, value: Mapping[str, Any]) -> None:
    """Refuse a sidecar that is not of the shape that its kind's schema states."""
    if not isinstance(value.get("kind"), str) or value["kind"] not in SIDECARS:
        raise BadRecord(f"{name}: kind is {value.get('kind')!r}: one of {', '.join(sorted(SIDECARS))}")
    _fits(name, value, str(value["kind"]))


def _bytes(path: Path) -> bytes:
    _real(path)
    if path.is_symlink() or not path.is_file():
        raise BadRecord(f"{path.name}: {'is a symbolic link' if path.is_symlink() else 'no such file'}")
    return path.read_bytes()


def _real(path: Path) -> None:
    """Refuse a path any of whose folders, up to `receipts/`, is a symbolic link."""
    for folder in path.parents:
        real_folder(folder)
        if folder.name == "receipts":
            return


def _put(path: Path, data: bytes) -> None:
    """Bytes into a new file: written beside it, flushed to the disk, then given their name if it is free."""
    _real(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        _name(Path(temporary), path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _name(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)  # unlike a rename, fails where the name is taken
    except FileExistsError:
        raise AlreadyWritten(f"{path.parent.name}/{path.name} exists: records are written once") from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise AlreadyWritten(f"{path.parent.name}/{path.name} exists: records are written once") from None
        temporary.rename(path)


_TOP = re.compile(r"(registration|decision|note)-.*\.json")
_IN_WINDOW = re.compile(r"(start|[A-Z][0-9]?|verdict-.*)\.json")


def _paths(root: Path) -> Iterator[Path]:
    """Every path where a record stands: in a rung's folder, and in its windows' folders."""
    receipts = real_folder(root / "receipts")
    for rung in folders(receipts):
        yield from sorted(path for path in rung.iterdir() if _TOP.fullmatch(path.name))
        for window in folders(rung):
            yield from sorted(path for path in window.iterdir() if _IN_WINDOW.fullmatch(path.name))


def folders(folder: Path) -> list[Path]:
    """The folders in a folder that may not exist, sorted; a link among them is an error."""
    if not folder.is_dir():
        return []
    return [real_folder(path) for path in sorted(folder.iterdir()) if path.is_dir() or path.is_symlink()]


def is_record_name(path: Path) -> bool:
    """Whether a record is expected to stand under this name."""
    return (_IN_WINDOW if is_window(path.parent) else _TOP).fullmatch(path.name) is not None


def is_arm(path: Path) -> bool:
    """Whether the file's name is that of an arm's receipt."""
    return re.fullmatch(PATTERNS["arm"], path.stem) is not None and path.suffix == ".json"


def is_window(path: Path) -> bool:
    """Whether the folder's name is that of a window: 8 hex digits."""
    return re.fullmatch(PATTERNS["window"], path.name) is not None


def _ordered(records: list[Record]) -> list[Record]:
    """Each record after those it saw; among the free ones the oldest first, then by path."""
    waiting = sorted(records, key=lambda record: (record.value["at"], record.path.as_posix()))
    missing = {record.sha256 for record in waiting}
    done: list[Record] = []
    while waiting:
        free = next(
            (record for record in waiting if missing.isdisjoint(record.value["prev"])),
            waiting[0],
        )
        waiting.remove(free)
        missing.discard(free.sha256)
        done.append(free)
    return done
