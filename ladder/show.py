"""What a rung is and what became of it, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ladder import checkout, listing, order, plan, records, standing, tokens
from ladder.errors import LadderError
from ladder.names import check
from ladder.plan import Plan
from ladder.records import Record


class NothingToGrade(LadderError):
    """The rung has no window of this name or profile."""


class SeveralProfiles(LadderError):
    """The rung was run under several profiles, each of which stands for itself."""


@dataclass(frozen=True)
class Window:
    """One window as its records tell it: its start, the verdict that counts, or None while ungraded, and its tokens."""

    start: Record
    verdict: Mapping[str, Any] | None
    tokens: Sequence[Mapping[str, Any]] = ()

    @property
    def profile(self) -> str:
        """The profile it was opened for."""
        return str(self.start.value["profile"])

    def as_json(self) -> dict[str, Any]:
        """The window as plain data."""
        start = self.start.value
        return {
            "window": self.start.d8,
            "at": start["at"],
            "exploratory": list(start["exploratory"]),
            "outcome": self.verdict["outcome"] if self.verdict else None,
            "verdict": dict(self.verdict) if self.verdict else None,
            "tokens": list(self.tokens),
        }


def windows(root: Path, rung: str) -> list[Window]:
    """Every window of a rung, oldest first."""
    checkout.receipts_folder(root, rung)
    mine = [record for record in records.scan(root) if record.value["rung"] == rung]
    found = []
    for start in (each for each in mine if each.kind == "start" and standing.is_at_home(each)):
        graded = standing.current(each for each in mine if each.path.parent == start.path.parent)
        found.append(Window(start, graded.value if graded else None))
    return found


@dataclass(frozen=True)
class Graded:
    """What grading the asked windows came to: one window's outcome, or the rung's standing over all of them."""

    outcome: str
    text: str
    data: dict[str, Any]


def grade(root: Path, rung: str, profile: str | None, window: str | None) -> Graded:
    """Grade the asked windows again; one window answers for itself, several by where the rung stands."""
    from ladder import verdict

    asked = _asked(root, rung, profile, window)
    graded = [verdict.grade(root, rung, each.start.d8)[0] for each in asked]
    counted = [tokens.of_window(root, rung, each["window"]) for each in graded]
    orders = [order.of_window(root, rung, each.start) for each in asked]
    told = [
        "\n".join([verdict_text(each), *tokens.lines(of), f"  order     {spoken}"])
        for each, of, spoken in zip(graded, counted, map(order.spoken, orders), strict=True)
    ]
    data: dict[str, Any] = {"verdicts": graded, "tokens": counted, "orders": orders}
    if window is not None:
        return Graded(graded[0]["outcome"], told[0], data)
    stand = standing.standing(root, rung, asked[0].profile)
    data["standing"] = {"profile": stand.profile, "outcome": stand.outcome, "says": stand.says}
    told.append(f"standing of {rung} ({stand.profile}): {listing.told(stand)}")
    return Graded(stand.outcome, "\n\n".join(told), data)


def _asked(root: Path, rung: str, profile: str | None, window: str | None) -> list[Window]:
    if window is not None:
        check("window", window)
    asked = [
        each
        for each in windows(root, rung)
        if (profile is None or each.profile == profile) and (window is None or each.start.d8 == window)
    ]
    if not asked:
        which = (f" of profile {profile}" if profile else "") + (f" named {window}" if window else "")
        raise NothingToGrade(f"no window{which} under receipts/{rung}/: `ladder run {rung}` opens one")
    profiles = sorted({each.profile for each in asked})
    if len(profiles) > 1:
        raise SeveralProfiles(f"{rung} was run under {', '.join(profiles)}, each with its own standing: give --profile")
    return asked


def verdict_text(verdict: Mapping[str, Any]) -> str:
    """One verdict: its outcome, then a line a finding and a line a reason."""
    head = f"{verdict['outcome']}  {verdict['rung']} ({verdict['profile']})  window {verdict['window']}"
    findings = [
        f"  {finding['finding']:<9} {finding['gate']}{' (primary)' if finding['primary'] else ''}: {finding['says']}"
        for finding in verdict["findings"]
    ]
    reasons = [f"  because   {reason['code']}: {reason['says']}" for reason in verdict["reasons"]]
    note = [f"  note      {verdict['note']}"] if "note" in verdict else []
    return "\n".join([head, *findings, *reasons, *note])


def plan_text(made: Plan) -> str:
    """A plan for people: the question, each arm's choices, and the gates."""
    script = ["  script: recorded readings, not a measurement"] if made.instrument == "script" else []
    return "\n".join(
        [
            f"{made.rung} ({made.profile}): {' '.join(made.meaning['question'].split())}",
            f"  lineage    {' -> '.join(made.lineage)}",
            f"  changed    {', '.join(f'{site}: {made.candidate[site]}' for site in made.changed)}",
            *(f"  dropped    {site}, swallowed by {by}" for site, by in made.dropped),
            *(
                f"  arm {arm.name:<6} {arm.role}, {' and '.join(arm.passes)}: {_choices(arm.choices)}"
                for arm in made.arms
            ),
            f"  design     {made.design}, instrument {made.instrument}",
            f"  workload   {_flat(made.workload)}",
            f"  budget     {_flat(made.budget)}",
            *map(_gate, made.gates),
            *script,
        ]
    )


def _choices(choices: dict[str, str]) -> str:
    return ", ".join(f"{site}: {kernel}" for site, kernel in choices.items()) or "every default"


def _gate(gate: dict[str, Any]) -> str:
    primary = " (primary)" if gate.get("primary") else ""
    rest = _flat({key: value for key, value in gate.items() if key not in {"gate", "primary"}})
    return f"  gate       {gate['gate']}{primary}" + (f": {rest}" if rest else "")


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{key} ({_flat(of)})" if isinstance(of, dict) else f"{key} {_flat(of)}" for key, of in value.items()
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def rung(root: Path, name: str) -> dict[str, Any]:
    """A rung's card, its plan under each profile, and its windows."""
    from ladder import card

    read = card.read(checkout.card_path(root, name))
    tried = [replace(each, tokens=tokens.of_window(root, name, each.start.d8)) for each in windows(root, name)]
    return {
        "rung": name,
        "title": read.title,
        "question": " ".join(str(read.value["question"]).split()),
        "parent": read.parent,
        "card": dict(read.value),
        "profiles": [_profile(root, name, profile, tried) for profile in read.profiles],
    }


def _profile(root: Path, name: str, profile: str, tried: list[Window]) -> dict[str, Any]:
    mine = [window for window in tried if window.profile == profile]
    stand = listing.told(standing.standing(root, name, profile))
    found: dict[str, Any] = {"profile": profile, "standing": stand, "windows": [each.as_json() for each in mine]}
    found["changed_since"] = listing.changed_since(root, name, profile, [each.start for each in mine])
    try:
        return {**found, "plan": plan.make(root, name, profile).as_json(), "trouble": None}
    except LadderError as error:
        return {**found, "plan": None, "trouble": str(error)}


def rung_text(shown: dict[str, Any]) -> str:
    """A rung for people: its question, each profile's change and gates, then every window."""
    lines = [f"{shown['rung']}: {shown['title']}"]
    if shown["question"] != shown["title"]:
        lines.append(f"  question   {shown['question']}")
    lines.append(f"  parent     {shown['parent']}")
    for each in shown["profiles"]:
        since = [f"  note       {each['changed_since']}"] if each["changed_since"] else []
        lines += ["", f"{each['profile']}: {each['standing']}", *since, *_profile_lines(each)]
    return "\n".join(lines)


def _profile_lines(each: dict[str, Any]) -> list[str]:
    if each["trouble"]:
        return [f"  cannot run {each['trouble']}", *_window_lines(each)]
    made = each["plan"]
    return [
        "  changed    " + ", ".join(f"{site}: {made['candidate'][site]}" for site in made["changed"]),
        *map(_gate, made["gates"]),
        *_window_lines(each),
    ]


def _window_lines(each: dict[str, Any]) -> list[str]:
    lines = []
    for window in each["windows"]:
        exploratory = "  exploratory: " + "; ".join(window["exploratory"]) if window["exploratory"] else ""
        lines.append(f"  window     {window['window']}  {window['at']}  {window['outcome'] or 'ungraded'}{exploratory}")
        if window["verdict"]:
            lines += ["    " + line for line in verdict_text(window["verdict"]).splitlines()[1:]]
        lines += ["    " + line for line in tokens.lines(window["tokens"])]
    return lines
