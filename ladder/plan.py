"""The plan: a card made explicit, down to what each process runs. Pure, and made without torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gates import trial
from ladder import card as cards
from ladder import checkout, sites
from ladder.card import BASE, Card
from ladder.errors import UnknownProfile, UnknownRung
from ladder.names import address, check, nearest
from ladder.sites import Site

DEFAULT_BUDGET = {"boot_s": 60, "compile_s": 120, "measure_s": 180}
BOTH = ("observe", "measure")


@dataclass(frozen=True)
class PlannedArm:
    """One process: its name, its role (control or treatment), what it binds, and its passes in order."""

    name: str
    role: str
    choices: dict[str, str]
    passes: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Everything a window needs to know, and all that its registration will pin."""

    rung: str
    profile: str
    lineage: list[str]
    meaning: dict[str, Any]
    control: dict[str, str]
    candidate: dict[str, str]
    changed: list[str]
    dropped: list[tuple[str, str]]
    arms: list[PlannedArm]
    design: str
    instrument: str
    workload: dict[str, Any]
    budget: dict[str, Any]
    gates: list[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return asdict(self)


def make(root: Path, rung: str, profile: str, *, is_tried: bool = True) -> Plan:
    """The plan of one rung under one profile, or the mistake in its card, its parents, its names or its gates.

    `is_tried` False leaves the trial of the gates out, where nothing is to be run.
    """
    chain = lineage(root, rung)
    check("profile", profile)
    chain[-1].profile(profile)
    for above in chain[:-1]:
        if profile not in above.profiles:
            raise UnknownProfile(
                f"rungs/{rung}.yaml: profile {profile!r} stands on {above.rung}, which has no such profile "
                f"(has: {', '.join(above.profiles)})"
            )
    table = sites.read(root)
    control: dict[str, str] = {}
    for above in chain[:-1]:
        control, _ = _compose(root, above, profile, control, table)
    candidate, dropped = _compose(root, chain[-1], profile, control, table)
    card = chain[-1]
    named = sorted(card.profile(profile)["change"])
    changed = [site for site in named if _running(control, table[site]) != _running(candidate, table[site])]
    if not changed:
        raise card.refused(card.place(profile, "change"), "changes nothing: the control already runs exactly this")
    made = _explicit(chain, profile, control, candidate, changed, dropped)
    if is_tried and (vacuous := trial.vacuous(made.meaning)):
        place = card.place(profile, "gates")
        raise card.refused(place if vacuous.index is None else (*place, vacuous.index), vacuous.says)
    return made


def lineage(root: Path, rung: str) -> list[Card]:
    """The cards from the bottom of the ladder to this one."""
    chain = [cards.read(checkout.card_path(root, rung))]
    while (parent := chain[0].parent) != BASE:
        seen = [card.rung for card in chain]
        if parent in seen:
            raise chain[0].refused(("parent",), f"{parent} stands on itself: {' <- '.join([parent, *seen])}")
        try:
            path = checkout.card_path(root, parent)
        except UnknownRung:
            near = nearest(parent, [*checkout.rungs(root), BASE])
            raise chain[0].refused(
                ("parent",), f"given {parent!r}, and there is no rungs/{parent}.yaml{near}"
            ) from None
        chain.insert(0, cards.read(path))
    return chain


def _compose(
    root: Path, card: Card, profile: str, below: Mapping[str, str], table: Mapping[str, Site]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """What runs once this card's change is made over the choices below it, and the choices that it swallows."""
    change: dict[str, str] = card.profile(profile)["change"]
    for site, kernel in change.items():
        _names_what_exists(root, card, (*card.place(profile, "change"), site), site, kernel, table)
    for site in change:
        place = (*card.place(profile, "change"), site)
        for other in sorted(set(change) & table[site].swallows):
            raise card.refused(place, f"swallows {other}, which this card names too; name one of them")
        for coarser in sorted(name for name in below if site in table[name].swallows):
            says = f"never runs: {below[coarser]} at {coarser} swallows it; change {coarser} instead"
            raise card.refused(place, says)
    dropped = [(finer, site) for site in sorted(change) for finer in sorted(set(below) & table[site].swallows)]
    kept = {site: kernel for site, kernel in below.items() if site not in {finer for finer, _ in dropped}}
    return dict(sorted({**kept, **change}.items())), dropped


def _names_what_exists(
    root: Path, card: Card, place: tuple[str | int, ...], site: str, kernel: str, table: Mapping[str, Site]
) -> None:
    if site not in table:
        raise card.refused(place, f"no site {site!r}{nearest(site, table) or ' in ' + str(sites.TABLE)}")
    operation, name = address(kernel)
    if operation != table[site].operation:
        raise card.refused(place, f"site {site!r} computes {table[site].operation}, not {operation}")
    folder = root / "kernels" / operation
    path = folder / f"{name}.py"
    if path.is_symlink() or folder.is_symlink() or not path.is_file() or name == "cases":
        if path.is_symlink() or folder.is_symlink():
            raise card.refused(
                place, f"kernels/{operation}/{name}.py is reached by a symbolic link; commit the file itself"
            )
        known = [file.stem for file in folder.glob("*.py") if file.stem not in {"__init__", "cases"}]
        raise card.refused(place, f"no kernel file kernels/{operation}/{name}.py{nearest(name, known)}")


def _running(choices: Mapping[str, str], site: Site) -> str:
    return choices.get(site.name, site.default)


def _explicit(
    chain: list[Card],
    profile: str,
    control: dict[str, str],
    candidate: dict[str, str],
    changed: list[str],
    dropped: list[tuple[str, str]],
) -> Plan:
    body = {"predict": None, "declares": {}, "trace": None, "budget": {}, **chain[-1].profile(profile)}
    body["declares"] = {"env": [], "args": [], **body["declares"]}
    body["budget"] = {**DEFAULT_BUDGET, **body["budget"]}
    body["choices"] = {"control": control, "candidate": candidate}
    meaning: dict[str, Any] = _whole(body)
    return Plan(
        rung=chain[-1].rung,
        profile=profile,
        lineage=[BASE, *(card.rung for card in chain)],
        meaning=meaning,
        control=control,
        candidate=candidate,
        changed=changed,
        dropped=dropped,
        arms=_arms(control, candidate, meaning["window"]["design"]),
        design=meaning["window"]["design"],
        instrument=meaning["instrument"],
        workload=meaning["workload"],
        budget=meaning["budget"],
        gates=meaning["gates"],
    )


def _arms(control: dict[str, str], candidate: dict[str, str], design: str) -> list[PlannedArm]:
    """A and its relaunch A2 around B; B2 boots the candidate once more.

    In `turns`, where another boot costs little, B2 is measured as well: with two boots a side the interval rests on
    two degrees of freedom and is a third as wide. Elsewhere B2 is observed alone.
    """
    return [
        PlannedArm("A", "control", control, BOTH),
        PlannedArm("B", "treatment", candidate, BOTH),
        PlannedArm("A2", "control", control, BOTH),
        PlannedArm("B2", "treatment", candidate, BOTH if design == "turns" else BOTH[:1]),
    ]


def _whole(value: Any) -> Any:
    """The same value with 3.0 as 3, so that two spellings of a number are one meaning."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
