"""The card: one pre-registered change, read strictly, so that a mistake costs a line and not a window."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from ladder import names, strict_yaml
from ladder.errors import BadCard, BadName, UnknownProfile
from ladder.strict_yaml import Document, Place

SCHEMA = Path(__file__).parent / "schemas" / "card.schema.json"
BASE = "reference"  # the parent of a rung at the bottom of the ladder
INHERITED = ("change", "predict", "declares", "workload", "window", "instrument", "trace", "budget", "gates")
NEEDED = ("change", "workload", "window", "instrument", "gates")
WHOLE = r"(?!\n)"  # how the schema's patterns keep `$` from letting a last line break through
TYPES = {
    "object": "a mapping of keys",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}


@dataclass(frozen=True)
class Card:
    """One card as written: its rung, its value, and the lines that messages point at."""

    rung: str
    document: Document

    @property
    def value(self) -> Mapping[str, Any]:
        """The parsed card, shaped as the schema says."""
        value: Mapping[str, Any] = self.document.value
        return value

    @property
    def parent(self) -> str:
        """The rung that the control runs, or `reference`."""
        return str(self.value["parent"])

    @property
    def title(self) -> str:
        """The card's title, or its question."""
        return " ".join(str(self.value.get("title", self.value["question"])).split())

    @property
    def profiles(self) -> list[str]:
        """The profiles in the order written."""
        return list(self.value["profiles"])

    def profile(self, name: str) -> dict[str, Any]:
        """Question, parent and every measured key of one profile; its own keys replace the card's whole keys."""
        if name not in self.value["profiles"]:
            near, known = names.nearest(name, self.profiles), ", ".join(self.profiles)
            raise UnknownProfile(f"{self.document.name}: no profile {names.shown(name)}{near} (has: {known})")
        merged = {**self.value, **self.value["profiles"][name]}
        return {key: merged[key] for key in ("question", "parent", *INHERITED) if key in merged}

    def place(self, profile: str, key: str) -> Place:
        """Where a profile's key is written: in the profile, or else in the card."""
        here: Place = ("profiles", profile, key)
        return here if here in self.document.lines or (key,) not in self.document.lines else (key,)

    def refused(self, place: Place, says: str) -> BadCard:
        """The error that names file, line and path."""
        return BadCard(f"{self.document.where(place)}: {says}")


def read(path: Path) -> Card:
    """Read, validate and return a card; the rung is the file's stem."""
    rung = names.check("rung", path.stem)
    if rung == BASE:
        raise BadName(f"rungs/{path.name}: {BASE} is the bottom of every ladder, not a rung")
    return parse(path.read_bytes()[: strict_yaml.MOST_BYTES + 1], rung)


def parse(data: bytes, rung: str) -> Card:
    """A card from its bytes, as if read from rungs/<rung>.yaml."""
    document = strict_yaml.parse(data, f"rungs/{rung}.yaml")
    fits_schema(document)
    card = Card(rung, document)
    _names_are_paths_within(card)
    _expires_on_a_day(card)
    for profile in card.profiles:
        _profile_can_be_judged(card, profile)
    return card


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def fits_schema(document: Document) -> None:
    """Raise BadCard with the most telling of the schema's complaints: an unknown key before what it leaves missing."""
    order = {"additionalProperties": 0, "type": 1, "required": 3}
    found = [
        (order.get(error.validator, 2), document.line(place), place, says)
        for error in _validator().iter_errors(document.value)
        for place, says in _complaints(error)
    ]
    if found:
        _, _, place, says = min(found, key=lambda item: item[:2])
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise BadCard(f"{document.where(place)}: {says}{more}")


def _complaints(error: Any) -> Iterator[tuple[Place, str]]:
    """Where a schema error lies, and what it says to a person."""
    place: Place = tuple(error.absolute_path)
    given, rule, wanted = error.instance, error.validator, error.validator_value
    if "propertyNames" in error.absolute_schema_path:
        yield (*place, given), f"the key must match {wanted} as a whole"
    elif rule == "additionalProperties":
        known = sorted(error.schema["properties"])
        for key in (key for key in given if key not in known):
            near = names.nearest(key, known)
            yield (*place, key), f"unknown key{near or '; known here: ' + ', '.join(known)}"
    elif rule == "required":
        for key in (key for key in wanted if key not in given):
            yield place, f"lacks the key {key!r}"
    elif rule == "type":
        yield place, f"given {_described(given)}; wanted {TYPES[wanted]}"
    elif rule == "enum":
        yield place, f"given {names.shown(given)}; one of: {', '.join(wanted)}{names.nearest(given, wanted)}"
    elif rule == "anyOf":
        yield place, f"names none of {', '.join(each['required'][0] for each in wanted)}: nothing could fail it"
    elif rule == "minItems" or rule == "minProperties":
        yield place, _empty(place, given)
    else:
        yield place, f"given {names.shown(given)}; {_limit(rule, wanted)}"


def _described(given: object) -> str:
    kinds = {
        str: "text",
        bool: "a true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a mapping",
    }
    return "nothing" if given is None else f"{names.shown(given)} ({kinds[type(given)]})"


def _empty(place: Place, given: Any) -> str:
    if place[-1:] == ("gates",):
        return "holds no gate: a card that nothing can fail is no experiment"
    return f"given {names.shown(given)}; it holds too little to mean anything"


def _limit(rule: str, wanted: object) -> str:
    limits = {
        "const": "it must be",
        "pattern": "it must match, as a whole,",
        "minimum": "at least",
        "maximum": "at most",
        "exclusiveMinimum": "more than",
        "exclusiveMaximum": "less than",
        "maxItems": "number of items at most",
        "minLength": "characters at least",
        "maxLength": "characters at most",
    }
    shown = str(wanted).removesuffix(WHOLE)
    return f"{limits[rule]} {shown}" if rule in limits else "each item once"


def _names_are_paths_within(card: Card) -> None:
    """The allow-list over every name that may become a path; the schema's `$` lets a last line break through."""
    value = card.value
    _named(card, "rung", value["parent"], ("parent",))
    for profile in ("", *value["profiles"]):
        body = value["profiles"][profile] if profile else value
        around: Place = ("profiles", profile) if profile else ()
        if profile:
            _named(card, "profile", profile, around)
        for kind in ("model", "script"):
            if kind in body.get("workload", {}):
                _named(card, kind, body["workload"][kind], (*around, "workload", kind))
        for site, address in body.get("change", {}).items():
            _named(card, "site", site, (*around, "change", site))
            _named(card, "address", address, (*around, "change", site))


def _named(card: Card, kind: str, name: object, place: Place) -> None:
    try:
        _ = names.address(name) if kind == "address" else names.check(kind, name)
    except BadName as error:
        raise BadName(f"{card.document.where(place)}: {error}") from None


def _expires_on_a_day(card: Card) -> None:
    expires = card.value.get("next", {}).get("expires", "2000-01-01")
    try:
        date.fromisoformat(expires)
    except ValueError:
        raise card.refused(("next", "expires"), f"given {expires!r}, which is no day of the calendar") from None


def _profile_can_be_judged(card: Card, profile: str) -> None:
    body = card.profile(profile)
    for key in NEEDED:
        if key not in body:
            raise card.refused(("profiles", profile), f"lacks the key {key!r}, and the card has none to inherit")
    kernels = sorted(set(body["change"].values()))
    if len(kernels) > 1:
        place = card.place(profile, "change")
        raise card.refused(place, f"{len(kernels)} changes ({', '.join(kernels)}); a card is one: make a rung of each")
    _workload_fits(card, profile, body)
    primaries = [index for index, gate in enumerate(body["gates"]) if gate.get("primary")]
    if len(primaries) != 1:
        says = f"{len(primaries)} primary gates; exactly one gate is `primary: true`: the question the card is about"
        raise card.refused(card.place(profile, "gates"), says)
    for index, gate in enumerate(body["gates"]):
        _gate_can_fail(card, (*card.place(profile, "gates"), index), gate, body["workload"])


def _workload_fits(card: Card, profile: str, body: Mapping[str, Any]) -> None:
    workload, place = body["workload"], card.place(profile, "workload")
    if (body["instrument"] == "script") != ("script" in workload):
        raise card.refused(
            place, "`script: NAME` and `instrument: script` go together: recorded readings, no measurement"
        )
    for key in ("model", "rows", "observe", "measure"):
        if key not in workload and "script" not in workload:
            raise card.refused(place, f"lacks the key {key!r}")
    measure, rows = workload.get("measure"), workload.get("rows")
    if measure and rows and measure["skip_steps"] * max(rows) >= measure["new_tokens"]:
        says = f"given {measure['skip_steps']}: {measure['new_tokens']} tokens at {max(rows)} a step may leave none"
        raise card.refused((*place, "measure", "skip_steps"), says)


def _gate_can_fail(card: Card, place: Place, gate: Mapping[str, Any], workload: Mapping[str, Any]) -> None:
    """Refuse a gate that no measurement could fail, or that the workload gives nothing to judge by."""
    rows = workload.get("rows")
    if gate["gate"] == "rows" and rows is not None and (1 not in rows or len(rows) < 2):
        raise card.refused(place, f"compares 1 row with several, but workload.rows is {rows}; measure both")
    if gate["gate"] not in {"speed", "no_worse"}:
        return
    if rows is not None and gate["rows"] not in rows:
        raise card.refused((*place, "rows"), f"given {gate['rows']}, which workload.rows {rows} never runs")
    if gate["gate"] == "no_worse":
        return
    gain = gate["bar"] if gate["metric"] == "tok_s" else -gate["bar"]
    if gain < 0:
        says = (
            f"given {gate['bar']}: a bar on the losing side cannot fail a slower candidate; a gain in {gate['metric']}"
        )
        raise card.refused((*place, "bar"), f"{says} is {'positive' if gate['metric'] == 'tok_s' else 'negative'}")
