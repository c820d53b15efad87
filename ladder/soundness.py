"""Can a window's evidence carry a verdict at all? Every reason why not, each with its own code."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gates import evidence, readings
from gates.digest import meaning_digest
from gates.finding import Unjudged
from ladder.records import Record


@dataclass(frozen=True)
class Reason:
    """Why a window came out as it did: a code for programs, one line for people."""

    code: str
    says: str


@dataclass(frozen=True)
class Case:
    """All that one window left: its records, its sidecars by sha256, and what could not be read of them."""

    start: Record
    registration: Record | None
    receipts: Mapping[str, Record]
    sidecars: Mapping[str, Mapping[str, Any]]
    unread: tuple[Reason, ...] = ()

    @property
    def meaning(self) -> Mapping[str, Any]:
        """The card's profile, resolved, as the start carries it."""
        found: Mapping[str, Any] = self.start.value["meaning"]
        return found

    @property
    def arms(self) -> Mapping[str, Mapping[str, Any]]:
        """The receipts' values by arm."""
        return {name: record.value for name, record in self.receipts.items()}

    def window(self) -> evidence.Window:
        """The same as evidence for gates."""
        arms = {name: evidence.arm(value) for name, value in self.arms.items()}
        return evidence.Window(self.meaning, self.start.value["design"], arms, self.sidecars)


def reasons(case: Case) -> list[Reason]:
    """Everything that voids this window, in the order in which a reader would ask; empty when it is sound."""
    found = [*case.unread, *(reason for ask in QUESTIONS for reason in ask(case))]
    return list(dict.fromkeys(found))


def _registered(case: Case) -> Iterator[Reason]:
    start = case.start.value
    for why in start["exploratory"]:
        yield Reason("exploratory", f"{why}: commit, then run again")
    if case.registration is None:
        if not start["exploratory"]:
            yield Reason("unregistered", "no registration was written before this window: `ladder register` writes one")
        return
    registered = case.registration.value
    if meaning_digest(registered["meaning"]) != registered["meaning_sha256"]:
        yield Reason("registration_apart", "the registration's meaning is not what its digest says")
    if meaning_digest(registered["meaning"]) != meaning_digest(start["meaning"]):
        yield Reason("registration_apart", "the window ran another question than its registration states")
    for key in ("rung", "profile"):
        if registered[key] != start[key]:
            yield Reason("registration_apart", f"the registration is of {key} {registered[key]}, not {start[key]}")


def _complete(case: Case) -> Iterator[Reason]:
    planned = case.start.value["arms"]
    for name in planned:
        if name not in case.receipts:
            yield Reason("missing_arm", f"arm {name} left no receipt")
    for name, receipt in case.arms.items():
        if name not in planned:
            yield Reason("unplanned_arm", f"arm {name} left a receipt, and the window planned no such arm")
        if receipt["ended"] != "done":
            yield Reason(receipt["ended"], f"arm {name} ended {receipt['ended'].replace('_', ' ')}")
        for trouble in receipt["trouble"]:
            yield Reason(trouble["code"], f"arm {name}: {trouble['says']}")
    for role in ("control", "treatment"):
        if not any(receipt["role"] == role for receipt in case.arms.values()):
            yield Reason("missing_arm", f"no arm left a receipt as {role}")


def _belongs(case: Case) -> Iterator[Reason]:
    start = case.start.value
    choices = {"control": case.meaning["choices"]["control"], "treatment": case.meaning["choices"]["candidate"]}
    for name, receipt in case.arms.items():
        if receipt["arm"] != name or receipt["start"] != case.start.sha256 or receipt["window"] != case.start.d8:
            yield Reason("foreign_receipt", f"{name}.json is the receipt of another arm or window")
        if any(receipt[key] != start[key] for key in ("rung", "profile")):
            yield Reason("foreign_receipt", f"{name}.json is the receipt of another rung or profile")
        if receipt["choices"] != choices[receipt["role"]] or receipt["choices"] != start["arms"].get(name):
            yield Reason("choices_apart", f"arm {name} did not bind what its {receipt['role']} should")


def _changes_something(case: Case) -> Iterator[Reason]:
    control, candidate = case.meaning["choices"]["control"], case.meaning["choices"]["candidate"]
    if control == candidate:
        yield Reason("no_op", "the treatment is the control: both bind the same kernels")
        return
    sources = [_source(case, site) for site in case.window().changed]
    if sources and all(a is not None and a == b for a, b in sources):
        yield Reason("no_op", "the treatment is the control: every changed site runs a kernel of the same source")


def _source(case: Case, site: str) -> tuple[str | None, str | None]:
    """The source digest of the kernel at a site, in the first control and in the first treatment."""
    found: list[str | None] = []
    for role in ("control", "treatment"):
        receipt = next((value for value in case.arms.values() if value["role"] == role), None)
        called = {address for item in (receipt or {}).get("observe", []) for address in _called(item, site)}
        kernels = receipt["kernels"] if receipt else {}
        address = called.pop() if len(called) == 1 else None
        found.append(kernels[address]["source_sha256"] if address in kernels else None)
    return found[0], found[1]


def _called(item: Mapping[str, Any], site: str) -> list[str]:
    return [address for address, calls in item["launches"]["by_site"].get(site, {}).items() if calls > 0]


def _swapped(case: Case) -> Iterator[Reason]:
    """The swap is proven by what was called at each changed site, in every pass of every arm."""
    for site in case.window().changed:
        for name, receipt in case.arms.items():
            role = "candidate" if receipt["role"] == "treatment" else "control"
            wanted = case.meaning["choices"][role].get(site)
            other = case.meaning["choices"]["control" if role == "candidate" else "candidate"].get(site)
            for item in receipt["observe"]:
                called = _called(item, site)
                where = f"arm {name}, {item['rows']} rows, site {site}"
                if wanted and wanted not in called:
                    yield Reason("not_swapped", f"{where}: {wanted} was never called")
                if other and other in called:
                    yield Reason("not_swapped", f"{where}: {other} was called, which is the other arm's kernel")
                for address in called if wanted else []:
                    if address not in (wanted, other):
                        yield Reason("not_swapped", f"{where}: {address} was called beside {wanted}")


def _code(case: Case) -> Iterator[Reason]:
    """What the workers loaded is what was registered, and is the same in every arm."""
    code = case.registration.value["code"] if case.registration else None
    first: dict[str, tuple[str, str]] = {}
    for name, receipt in case.arms.items():
        for path, sha256 in receipt["loaded"].items():
            arm, known = first.setdefault(path, (name, sha256))
            if known != sha256:
                yield Reason("code_apart", f"arms {arm} and {name} loaded unlike {path}")
            if code is not None and path not in code:
                yield Reason("code_unregistered", f"arm {name} loaded {path}, which was not registered")
            elif code is not None and code[path] != sha256:
                yield Reason("code_unregistered", f"arm {name} loaded a {path} unlike the registered one")
        for address, kernel in receipt["kernels"].items():
            path = f"kernels/{address}.py"
            if path in receipt["loaded"] and receipt["loaded"][path] != kernel["source_sha256"]:
                yield Reason("code_apart", f"arm {name}: {address} was bound from another source than it loaded")
            if code is not None and code.get(path) != kernel["source_sha256"]:
                yield Reason("code_unregistered", f"arm {name} bound a {address} that was not registered")


ALIKE: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "model": lambda receipt: receipt["model"],
    "machine": lambda receipt: receipt["machine"],
    "software": lambda receipt: receipt["software"],
    "threads": lambda receipt: receipt["process"].get("threads"),
}


def _alike(case: Case) -> Iterator[Reason]:
    """Arms that differ in anything but the change cannot be compared."""
    for what, of in ALIKE.items():
        values = {name: of(receipt) for name, receipt in case.arms.items()}
        for name, value in values.items():
            first = next(iter(values))
            if value != values[first]:
                fields = _fields(values[first], value)
                yield Reason(f"{what}_apart", f"arms {first} and {name} differ in {what}{fields}")
    named = case.meaning["workload"].get("model")
    for name, receipt in case.arms.items():
        if named and receipt["model"] and receipt["model"]["name"] != named:
            yield Reason("model_apart", f"arm {name} ran model {receipt['model']['name']}, not {named}")


def _fields(a: Any, b: Any) -> str:
    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        return f": {a} and {b}"
    return ": " + ", ".join(key for key in sorted({*a, *b}) if a.get(key) != b.get(key))


def _passes(case: Case) -> Iterator[Reason]:
    """Every arm made the passes that the card asks for, of the same tapes and at the same rows."""
    workload = case.meaning["workload"]
    tapes = workload.get("observe", {}).get("tapes")
    timed = {gate["rows"] for gate in case.meaning["gates"] if gate["gate"] == "speed"}
    for name, receipt in case.arms.items():
        observed = [item["rows"] for item in receipt["observe"]]
        measured = [item["rows"] for item in receipt["measure"]]
        expected = workload.get("rows", []) if "measure" in receipt["passes"] else workload.get("rows", [])[:1]
        for rows in expected:
            if rows not in observed:
                yield Reason("missing_pass", f"arm {name} has no observe pass at {rows} rows")
        for rows in sorted(timed if "measure" in receipt["passes"] else ()):
            if rows not in measured:
                yield Reason("missing_pass", f"arm {name} has no measure pass at {rows} rows")
        for item in receipt["observe"]:
            if item["rows"] not in workload.get("rows", [item["rows"]]):
                yield Reason(
                    "workload_apart", f"arm {name} observed {item['rows']} rows, which the card does not ask for"
                )
            if tapes is not None and item["tapes"] != tapes:
                yield Reason("workload_apart", f"arm {name} observed {item['tapes']} tapes, the card asks for {tapes}")
        if len(set(measured)) < len(measured):
            yield Reason("workload_apart", f"arm {name} measured a row count twice")
    yield from _steps_alike(case)


def _steps_alike(case: Case) -> Iterator[Reason]:
    first: dict[int, tuple[str, int]] = {}
    for name, receipt in case.arms.items():
        for item in receipt["measure"]:
            arm, steps = first.setdefault(item["rows"], (name, item["steps"]))
            if steps != item["steps"]:
                counts = f"{steps} and {item['steps']} steps"
                yield Reason("workload_apart", f"arms {arm} and {name} measured {counts} at {item['rows']} rows")


def _undisturbed(case: Case) -> Iterator[Reason]:
    for name, receipt in case.arms.items():
        for item in receipt["measure"]:
            moved = [what for what in ("tokens", "logits") if item["moved"][what]]
            if moved:
                says = f"arm {name}, {item['rows']} rows: {' and '.join(moved)} moved between observe and measure pass"
                yield Reason("outputs_moved", says)
        if receipt["compiles_in_range"]:
            yield Reason("compile_in_range", f"arm {name} compiled {receipt['compiles_in_range']} times while measured")
        if receipt["foreign_bytes"]:
            yield Reason("foreign_bytes", f"arm {name}: {receipt['foreign_bytes']} stray bytes came down its pipe")


def _readings(case: Case) -> Iterator[Reason]:
    """Readings are numbers above zero, pair across arms, and their two clocks agree, whether or not a gate asks."""
    window = case.window()
    measuring = [arm for arm in window.arms.values() if arm.measured]
    shared = set.intersection(*({item.rows for item in arm.measured} for arm in measuring)) if measuring else set()
    for rows in sorted(shared, reverse=True):
        try:
            readings.pair(window, rows)
        except Unjudged as trouble:
            yield Reason(trouble.code, trouble.says)


QUESTIONS: tuple[Callable[[Case], Iterator[Reason]], ...] = (
    _registered,
    _complete,
    _belongs,
    _changes_something,
    _passes,
    _alike,
    _code,
    _swapped,
    _undisturbed,
    _readings,
)
