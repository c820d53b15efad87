"""Can this window carry a verdict at all? Each reason against has a code of its own and one line."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gates.digest import meaning_digest
from gates.evidence import Arm, Window
from gates.finding import Unjudged
from gates.readings import pair
from ladder import acceptance
from ladder.window import Found

NEEDED = ("A", "B", "A2")
ENDS = {
    "crashed": "crashed",
    "hung": "stopped answering",
    "interrupted": "was interrupted",
    "over_budget": "spent its budget: no number, so no decision",
}


@dataclass(frozen=True)
class Reason:
    """Why a window has the outcome that it has: a code for programs, a line for people."""

    code: str
    says: str

    def as_json(self) -> dict[str, str]:
        """The reason as plain data."""
        return {"code": self.code, "says": self.says}


def reasons(found: Found) -> list[Reason]:
    """Every reason why the window's evidence cannot carry a verdict, in the order of the checks; none when sound."""
    seen: dict[Reason, None] = {}
    for check in CHECKS:
        try:
            for each in check(found):
                seen[each] = None
        except Unjudged as reason:
            seen[Reason(reason.code, reason.says)] = None
    return list(seen)


def _exploratory(found: Found) -> Iterator[Reason]:
    why = found.start.value["exploratory"]
    if why:
        yield Reason("exploratory", f"{'; '.join(why)}: commit, then run again")


def _registered(found: Found) -> Iterator[Reason]:
    start, record = found.start.value, found.registration
    if record is None:
        if start["registration"] is not None:
            yield Reason("unregistered", f"registration {start['registration'][:8]} is not there, or was edited")
        elif not start["exploratory"]:
            yield Reason("unregistered", "the window names no registration: its gates were not written first")
        return
    value = record.value
    if (value["rung"], value["profile"]) != (start["rung"], start["profile"]):
        yield Reason("unregistered", f"registration {record.d8} is of {value['rung']} ({value['profile']})")
    digests = {meaning_digest(each) for each in (start["meaning"], value["meaning"])} | {value["meaning_sha256"]}
    if len(digests) > 1:
        yield Reason("unregistered", f"the window asks another question than registration {record.d8}")
    if value["gates_sha256"] != meaning_digest(value["meaning"]["gates"]):
        yield Reason("unregistered", f"registration {record.d8} has gates that its own digest does not cover")


def _complete(found: Found) -> Iterator[Reason]:
    for says in found.broken:
        yield Reason("broken_record", says)
    for arm in NEEDED:
        if arm not in found.start.value["arms"]:
            yield Reason("missing_arm", f"the window was opened without arm {arm}")
    for arm in found.start.value["arms"]:
        if arm not in found.receipts:
            yield Reason("missing_arm", f"arm {arm} left no receipt")
    for arm, record in found.receipts.items():
        if arm not in found.start.value["arms"]:
            yield Reason("unknown_arm", f"arm {arm} left a receipt, and the window was opened without it")
        yield from _belongs(found, arm, record.value)


def _belongs(found: Found, arm: str, receipt: Mapping[str, Any]) -> Iterator[Reason]:
    start = found.start
    expected = {
        "rung": start.value["rung"],
        "profile": start.value["profile"],
        "window": found.name,
        "start": start.sha256,
        "role": "treatment" if arm.startswith("B") else "control",
    }
    for key, value in expected.items():
        if receipt[key] != value:
            yield Reason("misplaced", f"arm {arm}'s receipt has {key} {receipt[key]}, the window {value}")


def _ended(found: Found) -> Iterator[Reason]:
    for arm, record in found.receipts.items():
        troubles = record.value["trouble"]
        for trouble in troubles:
            yield Reason(trouble["code"], f"arm {arm}: {trouble['says']}")
        if record.value["ended"] != "done" and not any(each["code"] == record.value["ended"] for each in troubles):
            yield Reason(record.value["ended"], f"arm {arm} {ENDS[record.value['ended']]}")


def _passes(found: Found) -> Iterator[Reason]:
    rows = found.evidence.rows
    for name, record in found.receipts.items():
        passes = record.value["passes"]
        wanted = ("observe", "measure") if name in NEEDED else ("observe",)
        for missing in [each for each in wanted if each not in passes]:
            yield Reason("missing_pass", f"arm {name} was not asked to {missing}")
        for each in passes:
            have = {item["rows"] for item in record.value[each]}
            lacking = [count for count in rows if count not in have]
            if lacking and (name in NEEDED or not have):
                yield Reason("missing_pass", f"arm {name} has no {each} pass at {_listed(lacking)} rows")
            if odd := sorted(have - set(rows)):
                yield Reason("arms_differ", f"arm {name} ran {_listed(odd)} rows, which the workload does not name")


def _choices(found: Found) -> Iterator[Reason]:
    start = found.start.value
    for key in ("instrument", "design"):
        asked = start["meaning"]["instrument"] if key == "instrument" else start["meaning"]["window"].get("design")
        if start[key] != asked:
            yield Reason("arms_differ", f"the window ran {key} {start[key]}, the card asks for {asked}")
    named = start["meaning"]["choices"]
    for arm, opened in start["arms"].items():
        asked = named["candidate" if arm.startswith("B") else "control"]
        bound = found.receipts[arm].value["choices"] if arm in found.receipts else opened
        for choices in (opened, bound):
            if choices != asked:
                odd = sorted(site for site in {*asked, *choices} if asked.get(site) != choices.get(site))
                yield Reason("choices_differ", f"arm {arm} binds other kernels than the card, at {', '.join(odd)}")


def _alike(found: Found) -> Iterator[Reason]:
    """Machine, software, model, threads: what two arms of a comparison must share."""
    names = [arm for arm in found.start.value["arms"] if arm in found.receipts]
    for other in names[1:]:
        for field, ours, theirs in _unlike(found.receipts[names[0]].value, found.receipts[other].value):
            yield Reason("arms_differ", f"{field} is {ours!r} in {names[0]} and {theirs!r} in {other}")
    wanted = found.start.value["meaning"]["workload"]
    for name in names:
        model = found.receipts[name].value["model"]
        if model and model["name"] != wanted.get("model", model["name"]):
            yield Reason("arms_differ", f"arm {name} ran model {model['name']}, the card asks for {wanted['model']}")
        yield from _tapes(name, found.receipts[name].value, wanted)


def _unlike(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    pairs = {
        "machine": (a["machine"], b["machine"]),
        "software": (a["software"], b["software"]),
        "model": (a["model"] or {}, b["model"] or {}),
        "process": ({"threads": a["process"].get("threads")}, {"threads": b["process"].get("threads")}),
    }
    for group, (ours, theirs) in pairs.items():
        for key in sorted({*ours, *theirs}):
            if ours.get(key) != theirs.get(key):
                yield f"{group}.{key}", ours.get(key), theirs.get(key)


def _tapes(name: str, receipt: Mapping[str, Any], workload: Mapping[str, Any]) -> Iterator[Reason]:
    asked = workload.get("observe", {}).get("tapes")
    for item in receipt["observe"]:
        if asked is not None and item["tapes"] != asked and name in NEEDED:
            yield Reason("tapes_differ", f"arm {name} observed {item['tapes']} tapes, the card asks for {asked}")


def _code(found: Found) -> Iterator[Reason]:
    """What was loaded is what was registered, and is the same in every arm."""
    registered = found.registration.value["code"] if found.registration else None
    first: dict[str, tuple[str, str]] = {}
    for arm, record in found.receipts.items():
        for address in sorted(set(record.value["choices"].values()) - set(record.value["kernels"])):
            yield Reason("swap_unproven", f"arm {arm} does not tell the source of {address}, which it was to bind")
        bound = {f"kernels/{at}.py": each["source_sha256"] for at, each in record.value["kernels"].items()}
        for path, sha256 in sorted({*record.value["loaded"].items(), *bound.items()}):
            other, known = first.setdefault(path, (arm, sha256))
            if known != sha256:
                yield Reason("code_differs", f"arms {other} and {arm} loaded unlike {path}")
            if registered is None:
                continue
            if path not in registered:
                yield Reason("code_differs", f"arm {arm} loaded {path}, which was not registered")
            elif registered[path] != sha256:
                yield Reason("code_differs", f"arm {arm} loaded {path} with other content than was registered")


def _swapped(found: Found) -> Iterator[Reason]:
    """The change is one, and each arm ran what it should have, by the launches that were counted at its sites."""
    window = found.evidence
    if not window.changed:
        yield Reason("no_change", "treatment = control: both arms bind the same kernels")
    if not {"A", "B"} <= set(window.arms):
        return
    candidate = window.meaning["choices"]["candidate"]
    for site in window.changed:
        address = candidate.get(site)
        yield from _is_other(found, site, address)
        for arm in window.arms.values():
            yield from _ran(window, arm, site, address)


def _is_other(found: Found, site: str, address: str | None) -> Iterator[Reason]:
    control = found.evidence.arms["A"]
    ours, theirs = (found.receipts[arm].value["kernels"] for arm in ("A", "B"))
    for was in sorted(_calls(control, site)):
        same = address in theirs and was in ours and ours[was] == theirs[address]
        if was == address or same:
            yield Reason("no_change", f"site {site}: {address} is the control's own kernel ({was}), by its source")


def _ran(window: Window, arm: Arm, site: str, address: str | None) -> Iterator[Reason]:
    replaced = set(_calls(window.arms["A"], site))
    for item in arm.observed:
        calls = item.by_site.get(site, {})
        where = f"site {site}, arm {arm.name}, {item.rows} rows"
        if arm.role == "control":
            own = arm.choices.get(site)
            if own is not None and not calls.get(own) and item.rows == window.rows[0]:
                yield Reason("swap_unproven", f"{where}: the control's kernel {own} was never launched")
            if address is not None and calls.get(address):
                yield Reason("swap_unproven", f"{where}: the candidate's kernel {address} ran in the control")
            continue
        if address is not None and not calls.get(address) and item.rows == window.rows[0]:
            yield Reason("swap_unproven", f"{where}: the candidate's kernel {address} was never launched")
        for was in sorted(replaced - {address}):
            if calls.get(was):
                yield Reason("swap_unproven", f"{where}: the control's kernel {was} still ran ({calls[was]} times)")
        yield from _as_often(window, item, site, address, where)


def _as_often(window: Window, item: Any, site: str, address: str | None, where: str) -> Iterator[Reason]:
    """At a site that both arms have, the candidate runs as often in a step as the kernel that it replaces."""
    for control in window.arms["A"].observed:
        expected, ran = sum(control.by_site.get(site, {}).values()), item.by_site.get(site, {}).get(address, 0)
        if (control.rows, control.steps) == (item.rows, item.steps) and expected and address and ran != expected:
            says = f"{address} was launched {ran} times in {item.steps} steps, the control's kernel {expected}"
            yield Reason("swap_unproven", f"{where}: {says}")
            return


def _calls(arm: Arm, site: str) -> dict[str, int]:
    """How often each kernel ran at a site, over an arm's observe passes."""
    found: dict[str, int] = {}
    for item in arm.observed:
        for address, count in item.by_site.get(site, {}).items():
            found[address] = found.get(address, 0) + count
    return {address: count for address, count in found.items() if count}


def _sidecars(found: Found) -> Iterator[Reason]:
    for code, says in found.sidecars.troubles:
        yield Reason(code, says)


def _undisturbed(found: Found) -> Iterator[Reason]:
    for arm, record in found.receipts.items():
        if record.value["foreign_bytes"]:
            says = f"{record.value['foreign_bytes']} bytes that are no message came through arm {arm}'s pipe"
            yield Reason("stray_bytes", says)
        if record.value["compiles_in_range"]:
            count = record.value["compiles_in_range"]
            yield Reason("compile_in_range", f"arm {arm} compiled {count} time(s) inside its timed range")


def _steady(found: Found) -> Iterator[Reason]:
    """Outputs in the measure pass are those of the observe pass, wherever both were fed the same."""
    window = found.evidence
    for arm in window.arms.values():
        for item in arm.measured:
            where = f"arm {arm.name}, {item.rows} rows"
            parts = (("tokens", item.tokens_moved), ("logits", item.logits_moved))
            moved = [part for part, is_moved in parts if is_moved]
            if moved:
                yield Reason("outputs_moved", f"{where}: {' and '.join(moved)} moved between observe and measure")
            if item.compared == 0 and not _streams_differ(window, arm, item.rows):
                yield Reason("outputs_unchecked", f"{where}: no output of the measure pass was held against observe")


def _streams_differ(window: Window, arm: Arm, rows: int) -> bool:
    ours, theirs = ({item.sidecar for item in each.observed if item.rows == rows} for each in (arm, window.arm("A")))
    return ours.isdisjoint(theirs)


def _counted(found: Found) -> Iterator[Reason]:
    """A receipt's counts are those of its sidecars."""
    window = found.evidence
    for arm in window.arms.values():
        for item in arm.observed:
            tapes = window.sidecar(item.sidecar)["tapes"]
            steps = [step for tape in tapes for step in tape["steps"]]
            told = (item.tapes, item.steps, item.emitted)
            if told != (len(tapes), len(steps), sum(len(step["emitted"]) for step in steps)):
                yield Reason(
                    "miscounted", f"arm {arm.name} tells other counts than its observe pass at {item.rows} rows"
                )
        for timed in arm.measured:
            readings = sum(len(tape["wall_ns"]) for tape in window.sidecar(timed.sidecar)["tapes"])
            if readings != timed.steps:
                says = f"{timed.steps} steps, and left {readings} readings at {timed.rows} rows"
                yield Reason("miscounted", f"arm {arm.name} tells of {says}")


def _accepted(found: Found) -> Iterator[Reason]:
    """What a receipt says of its drafts follows from its sidecar; receipts from before it was kept say nothing."""
    for name, record in found.receipts.items():
        for item in record.value["observe"]:
            told = item.get("acceptance")
            if told is None:
                continue
            tapes = found.evidence.sidecar(item["sidecar"]["sha256"])["tapes"]
            counts = acceptance.counted([step for tape in tapes for step in tape["steps"]], item["rows"])
            alone, used = told["experts_alone"], item["experts_by_layer"]
            counts["union_per_mille"] = acceptance.per_mille(used, alone) if alone else []
            if told != {**counts, "experts_alone": alone}:
                yield Reason(
                    "miscounted", f"arm {name} tells of other acceptances at {item['rows']} rows than its steps"
                )


def _readings(found: Found) -> Iterator[Reason]:
    """Every measured row count can be paired, whether or not a gate asks about it."""
    window = found.evidence
    asked = window.meaning["workload"].get("measure", {}).get("tapes")
    for rows in sorted({item.rows for arm in window.arms.values() for item in arm.measured}, reverse=True):
        try:
            pair(window, rows)
            yield from _measured_tapes(window, rows, asked)
        except Unjudged as reason:
            yield Reason(reason.code, reason.says)


def _measured_tapes(window: Window, rows: int, asked: int | None) -> Iterator[Reason]:
    for arm in window.arms.values():
        if arm.measured and asked is not None:
            have = len({tape["tape"] for tape in window.sidecar(arm.measure(rows).sidecar)["tapes"]})
            if have != asked:
                yield Reason("tapes_differ", f"arm {arm.name} measured {have} tapes, the card asks for {asked}")


def _listed(counts: list[int]) -> str:
    return " and ".join(map(str, counts))


CHECKS: tuple[Callable[[Found], Iterator[Reason]], ...] = (
    _exploratory,
    _registered,
    _complete,
    _ended,
    _passes,
    _choices,
    _alike,
    _code,
    _swapped,
    _sidecars,
    _undisturbed,
    _steady,
    _counted,
    _accepted,
    _readings,
)
