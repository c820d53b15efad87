"""The places in a step that a card may name, read from `runtime/sites.json` as data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder.errors import BadSites
from ladder.names import check

TABLE = Path("runtime") / "sites.json"


@dataclass(frozen=True)
class Site:
    """One place: the operation it computes, every finer site it swallows, and what it is."""

    name: str
    operation: str
    swallows: frozenset[str]
    says: str

    @property
    def default(self) -> str:
        """What runs here when nothing is chosen: the reference, or the finer sites."""
        return "composed" if self.swallows else f"{self.operation}/reference"


def read(root: Path) -> dict[str, Site]:
    """Every site of this checkout by name; a site swallows what its finer sites swallow too."""
    path = root / TABLE
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadSites(f"no {TABLE}: it lists the places in the step that a card can name") from None
    except ValueError as error:
        raise BadSites(f"{TABLE}: not JSON: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(entry, dict) for entry in table.values()):
        raise BadSites(f"{TABLE}: wanted a mapping of sites, each a mapping")
    return {name: _site(name, table) for name in sorted(table)}


def _site(name: str, table: Mapping[str, Any]) -> Site:
    entry = table[check("site", name)]
    operation = check("operation", entry.get("operation"))
    return Site(name, operation, frozenset(_swallowed(name, table, (name,))), str(entry.get("says", "")))


def _swallowed(name: str, table: Mapping[str, Any], above: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    for finer in table[name].get("swallows", []):
        if finer not in table:
            raise BadSites(f"{TABLE}: {name} swallows {finer!r}, which is no site")
        if finer in above:
            raise BadSites(f"{TABLE}: {finer} swallows itself, by way of {' -> '.join(above)}")
        found |= {finer} | _swallowed(finer, table, (*above, finer))
    return found
