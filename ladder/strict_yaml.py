"""The plain YAML that a card is written in: YAML 1.2 core scalars, and nothing that could mean two things.

Numbers are numbers however YAML 1.2 lets them be spelled (`010` is ten, `-1e-1`, `.5`); `yes`, `no`, `on`, `off` and
dates are text. Refused, with file and line: duplicate, merged or non-text keys, tags, anchors, aliases, directives,
tabs, a byte order mark, control and invisible characters, a second document, NaN, infinities, numbers that no double
holds, more than 64 KiB, more than 16 levels, and bytes that are not UTF-8.
"""

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ladder.errors import BadYaml
from ladder.names import shown

MOST_BYTES = 64 * 1024
MOST_LEVELS = 16
EXACT = 2**53  # integers beyond this are not all doubles, so their canonical JSON would not be theirs alone

NULL = {"", "~", "null", "Null", "NULL"}
BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """One parsed file: its value, and the line of every key and item."""

    name: str
    value: Any
    lines: dict[Place, int]

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest place around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def where(self, place: Place) -> str:
        """`file:line: path`, as every message about this document begins."""
        return f"{self.name}:{self.line(place)}: {dotted(place)}"


def dotted(place: Place) -> str:
    """A place as a person writes it: `profiles.cpu.gates[0].bar`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if re.fullmatch(r"[\w-]{1,64}", part) else shown(part))
    return text or "(the whole file)"


def read(path: Path, name: str | None = None) -> Document:
    """Read a file; `name` is how messages call it (default: its last two parts)."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    return parse(data, name or "/".join(path.parts[-2:]))


def parse(data: bytes, name: str = "card.yaml") -> Document:
    """Parse the bytes of a file, or raise BadYaml with the line that is wrong."""
    text = _text(data, name)
    reader = _Reader(name, yaml.parse(text, Loader=yaml.SafeLoader))
    try:
        value = reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join((error.problem or error.context or "not YAML").split())
        raise BadYaml(f"{name}:{mark.line + 1 if mark else 1}: not YAML: {problem}") from None
    except yaml.YAMLError as error:
        raise BadYaml(f"{name}:1: not YAML: {' '.join(str(error).split())[:200]}") from None
    except (ValueError, OverflowError):  # what the scanner's own chr() says to \U00110000
        line = max(reader.lines.values())
        raise BadYaml(f"{name}:{line}: not YAML: an escape in quoted text names no character") from None
    return Document(name, value, reader.lines)


def _text(data: bytes, name: str) -> str:
    if len(data) > MOST_BYTES:
        raise BadYaml(f"{name}: larger than {MOST_BYTES} bytes; a card is a page")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadYaml(f"{name}:{line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8") from None
    if text.startswith("\ufeff"):
        raise BadYaml(f"{name}:1: begins with a byte order mark; save the file as UTF-8 without one")
    text = text.replace("\r\n", "\n")
    for line, content in enumerate(text.split("\n"), 1):
        if content.startswith("%"):
            raise BadYaml(f"{name}:{line}: begins with %, a directive; remove it: cards are YAML 1.2")
        bad = next((c for c in content if _is_hidden(c)), None)
        if bad == "\t":
            raise BadYaml(f"{name}:{line}: has a tab; indent and separate with spaces")
        if bad is not None:
            raise BadYaml(f"{name}:{line}: has the control or invisible character U+{ord(bad):04X}; remove it")
    return text


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class _Reader:
    """Builds the value from parser events, so that every refusal comes before anything is built from it."""

    def __init__(self, name: str, events: Iterator[Any]) -> None:
        self.name = name
        self.events = events
        self.lines: dict[Place, int] = {(): 1}

    def document(self) -> Any:
        next(self.events)  # the stream's start
        start = next(self.events)
        if isinstance(start, yaml.StreamEndEvent):
            raise BadYaml(f"{self.name}:1: empty; a card begins with `card: 1`")
        if start.version or start.tags:
            raise self.refused(start, (), "has a % directive; remove it: cards are YAML 1.2")
        value = self.node(next(self.events), ())
        next(self.events)  # the document's end
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self.refused(after, (), "begins a second document; a card is one document in one file")
        return value

    def node(self, event: Any, place: Place) -> Any:
        if isinstance(event, yaml.AliasEvent):
            raise self.refused(event, place, f"has the alias *{event.anchor}; write the value out")
        if event.anchor is not None:
            raise self.refused(event, place, f"has the anchor &{event.anchor}; write each value where it is used")
        if event.tag is not None:
            raise self.refused(event, place, f"has the tag {shown(event.tag)}; quote the value if text is meant")
        if len(place) > MOST_LEVELS:
            raise self.refused(event, place[:2], f"is nested more than {MOST_LEVELS} levels deep")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, place)
        return self.mapping(place) if isinstance(event, yaml.MappingStartEvent) else self.sequence(place)

    def sequence(self, place: Place) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            here = (*place, len(items))
            self.lines[here] = event.start_mark.line + 1
            items.append(self.node(event, here))
        return items

    def mapping(self, place: Place) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, line = self.key(event, place), event.start_mark.line + 1
            here = (*place, key)
            if key in items:
                first = self.lines[here]
                raise BadYaml(f"{self.name}:{line}: {dotted(here)}: the key is on line {first} too; keep one of them")
            self.lines[here] = line
            items[key] = self.node(next(self.events), here)
        return items

    def key(self, event: Any, place: Place) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self.refused(event, place, "has a key that is not plain text; write `key: value`")
        if event.value == "<<":
            raise self.refused(event, place, "has the merge key <<; write the keys out")
        key = self.node(event, place)
        if not isinstance(key, str):
            raise self.refused(event, place, f"has the key {shown(event.value)}, which is not text; quote it")
        return key

    def scalar(self, event: Any, place: Place) -> Any:
        bad = next((c for c in event.value if _is_hidden(c) and c != "\n"), None)
        if bad is not None:
            raise self.refused(event, place, f"holds the control or invisible character U+{ord(bad):04X}; remove it")
        if event.style is not None:
            return event.value
        try:
            return plain(event.value)
        except ValueError as error:
            raise self.refused(event, place, str(error)) from None

    def refused(self, event: Any, place: Place, says: str) -> BadYaml:
        return BadYaml(f"{self.name}:{event.start_mark.line + 1}: {dotted(place)}: {says}")


def plain(text: str) -> str | int | float | bool | None:
    """What an unquoted scalar means under YAML 1.2's core schema; ValueError for a number that cannot be kept."""
    if text in NULL:
        return None
    if text in BOOL:
        return BOOL[text]
    if NOT_FINITE.fullmatch(text):
        raise ValueError(f"given {text}; a number here is finite (quote it if text is meant)")
    if INTEGER.fullmatch(text):
        return _integer(text)
    if FLOAT.fullmatch(text):
        return _float(text)
    return text


def _integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    number = int(text, base) if len(text) <= 24 else EXACT + 1
    if abs(number) > EXACT:
        raise ValueError(f"given {shown(text)}; an integer here is at most 2**53 (quote it if text is meant)")
    return number


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number) or (number == 0 and re.search("[1-9]", text.lower().split("e")[0])):
        raise ValueError(f"given {shown(text)}; it lies outside what a double holds (quote it if text is meant)")
    return number
