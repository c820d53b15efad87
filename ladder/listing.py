"""Every rung at a glance: what stands on what, and where it stands."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gates.digest import meaning_digest
from ladder import card as cards
from ladder import checkout, plan, records, standing
from ladder.errors import LadderError
from ladder.records import Record
from ladder.standing import NOT_RUN, Standing


def rows(root: Path) -> list[dict[str, Any]]:
    """One row a rung, parents before children; a card or record that cannot be read says why in its rung's row."""
    found, broken = records.survey(root)
    stands = {(each.rung, each.profile): each for each in standing.standings(found)}
    troubles = {each.path.relative_to(root / "receipts").parts[0]: each.says for each in reversed(broken)}
    starts = [record for record in found if record.kind == "start"]
    listed = {rung: _row(root, rung, stands, starts, troubles.get(rung)) for rung in checkout.rungs(root)}
    return [listed[rung] for rung in sorted(listed, key=lambda rung: (_depth(rung, listed), rung))]


def _row(
    root: Path, rung: str, stands: Mapping[tuple[str, str], Standing], starts: list[Record], trouble: str | None
) -> dict[str, Any]:
    try:
        card = cards.read(checkout.card_path(root, rung))
    except LadderError as error:
        return {"rung": rung, "parent": None, "title": None, "profiles": {}, "trouble": str(error)}
    profiles = {name: told(stands.get((rung, name))) for name in card.profiles}
    for name in profiles:
        mine = [each for each in starts if (each.value["rung"], each.value["profile"]) == (rung, name)]
        profiles[name] += "; card changed since" if changed_since(root, rung, name, mine) else ""
    return {"rung": rung, "parent": card.parent, "title": card.title, "profiles": profiles, "trouble": trouble}


def changed_since(root: Path, rung: str, profile: str, starts: Iterable[Record]) -> str | None:
    """What to say where the card asks another question than the last window did, or cannot be planned any more."""
    last = max(starts, key=lambda start: str(start.value["at"]), default=None)
    if last is None:
        return None
    try:
        meaning = plan.make(root, rung, profile, is_tried=False).meaning
    except LadderError:
        return f"the card cannot be planned now; its last window {last.d8} asked a question that it could"
    if meaning_digest(meaning) == meaning_digest(last.value["meaning"]):
        return None
    return f"the card has changed since window {last.d8}: what stands is the answer to what it asked then"


def told(stand: Standing | None) -> str:
    """A standing in a few words."""
    if stand is None or stand.outcome == NOT_RUN:
        return NOT_RUN
    return f"{stand.outcome} ({stand.says})"


def _depth(rung: str, listed: Mapping[str, Mapping[str, Any]]) -> int:
    """How many rungs lie below; a loop is cut where it closes."""
    seen: list[str] = []
    while rung in listed and rung not in seen:
        seen.append(rung)
        rung = listed[rung]["parent"] or ""
    return len(seen)


def text(listed: list[dict[str, Any]]) -> str:
    """The rows as a table for a terminal."""
    if not listed:
        return "no cards in rungs/"
    names = widest(row["rung"] for row in listed)
    parents = widest(row["parent"] or "" for row in listed)
    return "\n".join(line for row in listed for line in _lines(row, names, parents))


def widest(texts: Iterable[str]) -> int:
    """The length of the longest text."""
    return max(map(len, texts), default=0)


def _lines(row: Mapping[str, Any], names: int, parents: int) -> list[str]:
    head = f"{row['rung']:<{names}}  {'on ' + row['parent'] if row['parent'] else '':<{parents + 3}}"
    stands = "; ".join(f"{profile}: {stand}" for profile, stand in row["profiles"].items())
    lines = [f"{head}  {row['title']}  [{stands}]"] if row["title"] else []
    return [*lines, *([f"{head}  {row['trouble']}"] if row["trouble"] else [])]
