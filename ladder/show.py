"""What a rung is and what became of it, in words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder import checkout, listing, plan
from ladder.errors import LadderError
from ladder.listing import Window
from ladder.names import check
from ladder.plan import Plan


class NothingToGrade(LadderError):
    """The rung has no window of this name or profile."""


@dataclass(frozen=True)
class Graded:
    """What grading the asked windows came to."""

    outcome: str
    text: str
    data: list[dict[str, Any]]


def grade(root: Path, rung: str, profile: str | None, window: str | None) -> Graded:
    """Grade the asked windows again; several decided alike keep that outcome, and mixed ones are INCONCLUSIVE."""
    from ladder import verdict

    if window is not None:
        check("window", window)
    asked = [
        each
        for each in listing.windows(root, rung)
        if (profile is None or each.profile == profile) and (window is None or each.name == window)
    ]
    if not asked:
        which = "".join([f" of profile {profile}" if profile else "", f" named {window}" if window else ""])
        raise NothingToGrade(f"no window{which} under receipts/{rung}/: `ladder run {rung}` opens one")
    graded = [verdict.grade(root, rung, each.name)[0] for each in asked]
    text = "\n\n".join(verdict_text(each) for each in graded)
    return Graded(together([each["outcome"] for each in graded]), text, graded)


def together(outcomes: list[str]) -> str:
    """The outcome of several windows: the common one of those decided, or INCONCLUSIVE when they differ."""
    decided = {outcome for outcome in outcomes if outcome in {"PASS", "FAIL"}}
    if len(decided) == 1:
        return decided.pop()
    return "INCONCLUSIVE" if decided or "INCONCLUSIVE" in outcomes else "INVALID"


def verdict_text(verdict: dict[str, Any]) -> str:
    """One verdict: its outcome, then a line a finding and a line a reason."""
    head = f"{verdict['outcome']}  {verdict['rung']} ({verdict['profile']})  window {verdict['window']}"
    findings = [
        f"  {finding['finding']:<9} {finding['gate']}{' (primary)' if finding['primary'] else ''}: {finding['says']}"
        for finding in verdict["findings"]
    ]
    reasons = [f"  because   {reason['code']}: {reason['says']}" for reason in verdict["reasons"]]
    return "\n".join([head, *findings, *reasons])


def plan_text(made: Plan) -> str:
    """A plan for people: the question, each arm's choices, and the gates."""
    script = ["  script: recorded readings, not a measurement"] if made.instrument == "script" else []
    return "\n".join(
        [
            f"{made.rung} ({made.profile}): {made.meaning['question']}",
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
    return ", ".join(f"{site}: {kernel}" for site, kernel in choices.items()) or "all reference"


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
    tried = listing.windows(root, name)
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
    found: dict[str, Any] = {
        "profile": profile,
        "outcomes": listing.tally(mine),
        "windows": [_shown(each) for each in mine],
    }
    try:
        return {**found, "plan": plan.make(root, name, profile).as_json(), "trouble": None}
    except LadderError as error:
        return {**found, "plan": None, "trouble": str(error)}


def _shown(window: Window) -> dict[str, Any]:
    return {
        "window": window.name,
        "at": window.at,
        "exploratory": list(window.exploratory),
        "outcome": window.outcome,
        "verdict": window.verdict,
    }


def rung_text(shown: dict[str, Any]) -> str:
    """A rung for people: its question, each profile's change and gates, then every window."""
    lines = [f"{shown['rung']}: {shown['title']}"]
    if shown["question"] != shown["title"]:
        lines.append(f"  question   {shown['question']}")
    lines.append(f"  parent     {shown['parent']}")
    for each in shown["profiles"]:
        lines += ["", f"{each['profile']}: {each['outcomes']}", *_profile_lines(each)]
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
    return lines
