"""Every rung at a glance: what stands on what, how often it was tried, and what came of it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder import card as cards
from ladder import checkout
from ladder.errors import LadderError
from ladder.names import PATTERNS, real_folder

NO_WINDOW = "not run"


@dataclass(frozen=True)
class Window:
    """One window as its records tell it: its latest verdict's outcome, or None while ungraded."""

    name: str
    profile: str
    at: str
    exploratory: tuple[str, ...]
    outcome: str | None
    verdict: dict[str, Any] | None


def windows(root: Path, rung: str) -> list[Window]:
    """Every window of a rung, oldest first."""
    folder = checkout.receipts_folder(root, rung)
    found = [
        _window(real_folder(path.parent))
        for path in folder.glob("*/start.json")
        if re.fullmatch(PATTERNS["window"], path.parent.name)
    ]
    return sorted(found, key=lambda window: (window.at, window.name))


def _window(folder: Path) -> Window:
    from ladder import records

    start = records.read(folder / "start.json")
    verdicts = [records.read(path) for path in sorted(folder.glob("verdict-*.json"))]
    latest = max(verdicts, key=lambda verdict: _version(verdict["scorer"]), default=None)
    return Window(
        name=folder.name,
        profile=start["profile"],
        at=start["at"],
        exploratory=tuple(start["exploratory"]),
        outcome=latest["outcome"] if latest else None,
        verdict=latest,
    )


def _version(scorer: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in scorer.split("."))


def tally(found: list[Window]) -> str:
    """What a profile's windows came to, counted and never washed out: `PASS 2, INVALID 1`."""
    counts: dict[str, int] = {}
    for window in found:
        word = window.outcome or "ungraded"
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{word} {count}" for word, count in sorted(counts.items())) or NO_WINDOW


def rows(root: Path) -> list[dict[str, Any]]:
    """One row a rung, parents before children; a card that cannot be read says why in its row."""
    found = {rung: _row(root, rung) for rung in checkout.rungs(root)}
    return [found[rung] for rung in sorted(found, key=lambda rung: (_depth(rung, found), rung))]


def _row(root: Path, rung: str) -> dict[str, Any]:
    try:
        card = cards.read(checkout.card_path(root, rung))
        tried = windows(root, rung)
    except LadderError as error:
        return {"rung": rung, "parent": None, "title": None, "profiles": {}, "trouble": str(error)}
    profiles = {name: tally([window for window in tried if window.profile == name]) for name in card.profiles}
    return {"rung": rung, "parent": card.parent, "title": card.title, "profiles": profiles, "trouble": None}


def _depth(rung: str, found: dict[str, dict[str, Any]]) -> int:
    """How many rungs lie below; a loop is cut where it closes."""
    seen: list[str] = []
    while rung in found and rung not in seen:
        seen.append(rung)
        rung = found[rung]["parent"] or ""
    return len(seen)


def text(listed: list[dict[str, Any]]) -> str:
    """The rows as a table for a terminal."""
    if not listed:
        return "no cards in rungs/"
    names = max(len(row["rung"]) for row in listed)
    parents = max(len(row["parent"] or "") for row in listed)
    return "\n".join(_line(row, names, parents) for row in listed)


def _line(row: dict[str, Any], names: int, parents: int) -> str:
    head = f"{row['rung']:<{names}}  {'on ' + row['parent'] if row['parent'] else '':<{parents + 3}}"
    if row["trouble"]:
        return f"{head}  {row['trouble']}"
    stand = "; ".join(f"{profile}: {tallied}" for profile, tallied in row["profiles"].items())
    return f"{head}  {stand}  {row['title']}"
