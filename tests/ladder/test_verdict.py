"""A verdict follows from a window's records alone, and nothing that is wrong with them can pass."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gates.finding import Finding
from ladder import records, verdict, window
from ladder.soundness import Reason
from tests.ladder import windows
from tests.ladder.windows import Parts, spoiled

ROOT = Path(__file__).parent.parent.parent


def graded(root: Path, built: Parts) -> dict[str, Any]:
    return verdict.grade(root, built["rung"], windows.lay(root, built))[0]


def codes(found: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in found["reasons"]]


def test_a_sound_window_with_a_real_gain_passes_and_needs_no_reason(tmp_path: Path) -> None:
    found = graded(tmp_path, windows.parts())
    assert (found["outcome"], found["reasons"]) == ("PASS", [])
    assert [each["finding"] for each in found["findings"]] == ["met"] * 5


def test_a_sound_window_without_a_gain_fails_on_speed(tmp_path: Path) -> None:
    found = graded(tmp_path, windows.parts(candidate_ns=100_000_000))
    assert (found["outcome"], codes(found)) == ("FAIL", ["speed"])


def test_a_window_whose_controls_lie_far_apart_is_inconclusive_and_says_what_would_help(tmp_path: Path) -> None:
    built = spoiled(lambda parts: parts["arms"].update(A2=windows.arm("A2", 112_000_000)))
    found = graded(tmp_path, built)
    assert (found["outcome"], codes(found)) == ("INCONCLUSIVE", ["noise"])
    assert "more control boots would decide it" in found["reasons"][0]["says"]


# --- what voids a window: each with a code of its own, and one line -------------------------------------------------


def receipt(arm: str, **other: Any) -> Callable[[Parts], None]:
    return lambda parts: parts["arms"][arm]["receipt"].update(other)


def every_receipt(**other: Any) -> Callable[[Parts], None]:
    return lambda parts: [each["receipt"].update(other) for each in parts["arms"].values()]


def start(**other: Any) -> Callable[[Parts], None]:
    return lambda parts: parts["start"].update(other)


def registered(**other: Any) -> Callable[[Parts], None]:
    return lambda parts: parts["registration"].update(other)


def reading(arm: str, key: str, step: int, value: Any) -> Callable[[Parts], None]:
    def spoil(parts: Parts) -> None:
        parts["arms"][arm]["readings"][6]["tapes"][3][key][step] = value

    return spoil


def tape(arm: str, edit: Callable[[dict[str, Any]], Any]) -> Callable[[Parts], None]:
    return lambda parts: edit(parts["arms"][arm]["readings"][6]["tapes"][3])


def unlike_logits(tape: dict[str, Any]) -> None:
    tape["steps"][1]["logits"] = ["0" * 16] * 6


def observed(arm: str, edit: Callable[[dict[str, Any]], Any], rows: int = 6) -> Callable[[Parts], None]:
    def spoil(parts: Parts) -> None:
        for _, document, _ in parts["arms"][arm]["observe"][rows]:
            edit(document["tapes"][0])

    return spoil


def calls(arm: str, **sites: dict[str, int]) -> Callable[[Parts], None]:
    return lambda parts: parts["arms"][arm].update(calls=sites)


def same_source(parts: Parts) -> None:
    source = {"source_sha256": windows.SOURCES[windows.CONTROL]}
    path = f"kernels/{windows.CANDIDATE}.py"
    parts["registration"]["code"] = {path: source["source_sha256"], f"kernels/{windows.CONTROL}.py": "c" * 64}
    parts["registration"]["code"]["runtime/model.py"] = "e" * 64
    for name in ("B", "B2"):
        parts["arms"][name]["receipt"]["kernels"] = {windows.CANDIDATE: source}


def same_choices(parts: Parts) -> None:
    parts["meaning"]["choices"]["candidate"] = parts["meaning"]["choices"]["control"]
    for name in ("B", "B2"):
        parts["arms"][name]["receipt"]["choices"] = {"head": windows.CONTROL}


def loose_gates(parts: Parts) -> None:
    meaning = copy.deepcopy(parts["meaning"])
    meaning["gates"][4]["bar"] = -99_000
    parts["registration"]["meaning"] = meaning


MODEL = {"name": "tiny", "checkpoint_sha256": "0" * 64, "arithmetic": "product"}

VOID = [
    ("uncommitted work", start(exploratory=["kernels/head/reference.py is not committed"]), "exploratory"),
    ("no registration", lambda parts: parts.update(registration=None), "unregistered"),
    ("another bar than the registered one", loose_gates, "unregistered"),
    ("gates that their own digest does not cover", registered(gates_sha256="0" * 64), "unregistered"),
    ("a registration of another rung", registered(rung="other"), "unregistered"),
    ("an arm that left no receipt", lambda parts: parts["arms"].pop("A2"), "missing_arm"),
    ("no candidate", lambda parts: parts["arms"].pop("B"), "missing_arm"),
    ("no relaunch where the card asks for one", lambda parts: parts["arms"].pop("B2"), "missing_arm"),
    ("an arm that crashed", receipt("B", ended="crashed"), "crashed"),
    ("an arm that hung", receipt("A", ended="hung"), "hung"),
    ("an interrupted arm", receipt("A", ended="interrupted"), "interrupted"),
    ("a spent budget", receipt("A2", ended="over_budget"), "over_budget"),
    ("trouble that a worker told of", receipt("B", trouble=[{"code": "throttled", "says": "hot"}]), "throttled"),
    ("no measure pass in the candidate", lambda parts: parts["arms"]["B"].update(readings={}), "missing_pass"),
    ("no measure pass at one row", lambda parts: parts["arms"]["B"]["readings"].pop(1), "missing_pass"),
    ("no observe pass at one row", lambda parts: parts["arms"]["B"]["observe"].pop(1), "missing_pass"),
    ("no second fill", lambda parts: parts["arms"]["B"]["observe"][6].pop(), "missing_pass"),
    ("a workload that asks for nothing", lambda parts: parts["meaning"]["workload"].pop("rows"), "missing_pass"),
    ("another machine", receipt("B", machine={"cpu": "another", "cores": 2}), "arms_differ"),
    ("other software", receipt("A2", software={"torch": "2.12.0"}), "arms_differ"),
    ("another checkpoint", receipt("B", model=MODEL), "arms_differ"),
    ("more threads", receipt("B", process={"threads": 2}), "arms_differ"),
    ("another model than the card's", every_receipt(model=MODEL | {"name": "slice4"}), "arms_differ"),
    ("another instrument than the card's", start(instrument="script"), "arms_differ"),
    ("another design than the card's", start(design="A-B-A2"), "arms_differ"),
    ("a row count that nobody asked for", lambda parts: parts["meaning"]["workload"].update(rows=[6]), "arms_differ"),
    ("fewer tapes than the card's", lambda p: p["meaning"]["workload"]["observe"].update(tapes=9), "tapes_differ"),
    ("fewer timed tapes", lambda p: p["meaning"]["workload"]["measure"].update(tapes=9), "tapes_differ"),
    ("other kernels than the card's", receipt("B", choices={"head": "head/other"}), "choices_differ"),
    ("a loaded file unlike the registered", every_receipt(loaded={"runtime/model.py": "9" * 64}), "code_differs"),
    ("a loaded file nobody registered", every_receipt(loaded={"runtime/other.py": "e" * 64}), "code_differs"),
    ("arms that loaded unlike files", receipt("B", loaded={"runtime/model.py": "9" * 64}), "code_differs"),
    ("treatment = control, by name", same_choices, "no_change"),
    ("treatment = control, by source", same_source, "no_change"),
    ("a candidate whose source is not told", receipt("B", kernels={}), "swap_unproven"),
    ("a candidate never launched", calls("B", head={windows.CANDIDATE: 0}), "swap_unproven"),
    ("a control still launched", calls("B", head={windows.CANDIDATE: 1, windows.CONTROL: 1}), "swap_unproven"),
    ("a candidate in the control", calls("A", head={windows.CANDIDATE: 1, windows.CONTROL: 1}), "swap_unproven"),
    ("a candidate launched half as often", calls("A", head={windows.CONTROL: 2}), "swap_unproven"),
    ("stray bytes on the pipe", receipt("B", foreign_bytes=12), "stray_bytes"),
    ("a compile in range", receipt("B", compiles_in_range=1), "compile_in_range"),
    ("tokens that moved", lambda p: p["arms"]["B"]["moved"][6].update(tokens=True), "outputs_moved"),
    ("logits that moved", lambda p: p["arms"]["A"]["moved"][1].update(logits=True), "outputs_moved"),
    ("outputs that nobody held against observe", lambda p: p["arms"]["B"].update(compared=0), "outputs_unchecked"),
    ("a tape more than was observed", lambda p: p["arms"]["B"].update(told={"tapes": 9}), "miscounted"),
    ("tokens that nobody emitted", lambda p: p["arms"]["B"].update(told={"emitted": 999}), "miscounted"),
    ("drafts that nobody accepted", lambda p: p["arms"]["B"].update(acceptance={"hits": [32] * 5}), "miscounted"),
    ("experts that nobody used", lambda p: p["arms"]["A"].update(acceptance={"union_per_mille": [999]}), "miscounted"),
    ("steps that left no reading", lambda p: p["arms"]["A"].update(timed=81), "miscounted"),
    ("a control that was never launched", calls("A2", head={windows.CONTROL: 0}), "swap_unproven"),
    ("a reading of zero", reading("B", "wall_ns", 4, 0), "bad_reading"),
    ("a reading below zero", reading("B", "wall_ns", 4, -1_780_000), "bad_reading"),
    ("a reading that is null", reading("B", "wall_ns", 4, None), "bad_reading"),
    ("a reading that is text", reading("A", "wall_ns", 4, "100000000"), "bad_reading"),
    ("a reading that is NaN", reading("A", "wall_ns", 4, float("nan")), "bad_reading"),
    ("a reading that is infinite", reading("B", "wall_ns", 4, float("-inf")), "bad_reading"),
    ("a reading that is a truth", reading("B", "wall_ns", 4, True), "bad_reading"),
    ("a reading with a fraction", reading("B", "wall_ns", 4, 1.5), "bad_reading"),
    ("a second clock below zero", reading("B", "cpu_ns", 4, -1), "bad_reading"),
    ("a step too few", tape("B", lambda t: (t["wall_ns"].pop(), t["cpu_ns"].pop())), "steps_unpaired"),
    ("one clock a step short", tape("B", lambda t: t["cpu_ns"].pop()), "steps_unpaired"),
    ("nothing but skipped steps", tape("B", lambda t: t.update(skip=10)), "steps_unpaired"),
    ("another tape", tape("B", lambda t: t.update(tape="poem")), "tapes_differ"),
    ("a second clock far above", tape("B", lambda t: t.update(cpu_ns=[10**9] * 10)), "clocks_apart"),
    ("a second clock that stands", tape("B", lambda t: t.update(cpu_ns=[0] * 10)), "clocks_apart"),
    ("controls with unlike logits", observed("A2", unlike_logits), "controls_apart"),
    ("controls with unlike state", observed("A2", lambda t: t.update(state="0" * 16)), "controls_apart"),
    ("another prompt", observed("B", lambda t: t.update(prompt="0" * 16)), "tapes_differ"),
    ("a sidecar of another shape", observed("B", lambda t: t.pop("state")), "sidecar_broken"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "spoil", "code"), VOID, ids=[case[0] for case in VOID])
def test_a_window_is_invalid_for(what: str, spoil: Callable[[Parts], Any], code: str, tmp_path: Path) -> None:
    found = graded(tmp_path, spoiled(spoil))
    assert found["outcome"] == "INVALID"
    assert code in codes(found)
    assert all("\n" not in reason["says"] and reason["says"] for reason in found["reasons"])


@pytest.mark.parametrize("order", [0, 3, 7])
def test_a_reading_that_is_none_voids_the_window_wherever_it_stands(order: int, tmp_path: Path) -> None:
    found = graded(tmp_path, spoiled(reading("B", "wall_ns", order, float("nan"))))
    assert (found["outcome"], set(codes(found))) == ("INVALID", {"bad_reading"})


def test_a_bad_reading_is_named_by_arm_tape_and_step(tmp_path: Path) -> None:
    found = graded(tmp_path, spoiled(reading("B", "wall_ns", 7, 0)))
    assert "arm B, 6 rows, tape json, wall_ns: 1 of 10 readings" in found["reasons"][0]["says"]
    assert found["reasons"][0]["says"].endswith("steps 7")


# --- files that are not what they were ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["observe", "sites", "readings"])
def test_a_sidecar_that_was_edited_voids_the_window(kind: str, tmp_path: Path) -> None:
    name = windows.lay(tmp_path, windows.parts())
    path = next((tmp_path / "receipts" / "demo" / name).glob(f"{kind}-*.json"))
    path.write_bytes(path.read_bytes().replace(b"prose", b"verse"))
    found, _ = verdict.grade(tmp_path, "demo", name)
    assert (found["outcome"], "sidecar_differs" in codes(found)) == ("INVALID", True)


@pytest.mark.parametrize("kind", ["observe", "sites", "readings"])
def test_a_sidecar_that_is_gone_voids_the_window(kind: str, tmp_path: Path) -> None:
    name = windows.lay(tmp_path, windows.parts())
    next((tmp_path / "receipts" / "demo" / name).glob(f"{kind}-*.json")).unlink()
    found, _ = verdict.grade(tmp_path, "demo", name)
    assert (found["outcome"], "sidecar_missing" in codes(found)) == ("INVALID", True)


@pytest.mark.parametrize("keep", [0, 1, 400])
def test_a_receipt_cut_short_is_named_and_never_skipped(keep: int, tmp_path: Path) -> None:
    name = windows.lay(tmp_path, windows.parts())
    path = tmp_path / "receipts" / "demo" / name / "B2.json"
    path.write_bytes(path.read_bytes()[:keep])
    found, _ = verdict.grade(tmp_path, "demo", name)
    assert found["outcome"] == "INVALID"
    assert any(reason["code"] == "broken_record" and "B2.json" in reason["says"] for reason in found["reasons"])


def test_a_receipt_of_another_window_is_misplaced(tmp_path: Path) -> None:
    first = windows.lay(tmp_path, windows.parts())
    later = windows.parts() | {"at": "2026-12-01T08:00:00Z"}
    second = windows.lay(tmp_path, later)
    folder = tmp_path / "receipts" / "demo"
    (folder / second / "B.json").write_bytes((folder / first / "B.json").read_bytes())
    found, _ = verdict.grade(tmp_path, "demo", second)
    assert (found["outcome"], "misplaced" in codes(found)) == ("INVALID", True)


def test_a_registration_that_was_edited_counts_for_nothing(tmp_path: Path) -> None:
    name = windows.lay(tmp_path, windows.parts())
    path = next((tmp_path / "receipts" / "demo").glob("registration-*.json"))
    path.write_text(path.read_text().replace("-10000", "-1000"))
    found, _ = verdict.grade(tmp_path, "demo", name)
    assert (found["outcome"], codes(found)) == ("INVALID", ["unregistered"])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a record that is not itself a container."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


def test_whatever_stands_in_a_receipts_place_for_a_fact_it_never_passes_and_never_falls_over(tmp_path: Path) -> None:
    name = windows.lay(tmp_path, windows.parts())
    path = tmp_path / "receipts" / "demo" / name / "B.json"
    whole = json.loads(path.read_bytes())
    assert verdict.judge(window.load(tmp_path, "demo", name))["outcome"] == "PASS"
    for place in places(whole):
        spoiled = copy.deepcopy(whole)
        inner = spoiled
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = {"odd": [1]}
        path.write_text(json.dumps(spoiled))
        assert verdict.judge(window.load(tmp_path, "demo", name))["outcome"] == "INVALID", place


# --- what a gate finds ----------------------------------------------------------------------------------------------


def wrong(parts: Parts) -> None:
    """The candidate's logits differ from step 1 of tape prose on, from layer 1's head value, at element 17."""
    for name in ("B", "B2"):
        for at, (fill, document, sites) in enumerate(parts["arms"][name]["observe"][6]):
            document["tapes"][0]["steps"][1]["logits"][2] = "0" * 16
            if sites:
                sites = copy.deepcopy(sites)
                sites["tapes"][0]["steps"][1] = copy.deepcopy(sites["tapes"][0]["steps"][1])
                place = sites["tapes"][0]["steps"][1][3]
                place[2] = place[2][:16] + "00000000" + place[2][24:]
            parts["arms"][name]["observe"][6][at] = (fill, document, sites)
    where = {"tape": "prose", "step": 1, "layer": 1, "value": "head", "row": 2, "element": 17}
    first = where | {"control": "3f80", "candidate": "4000"}
    beside = {"compared": 100, "differing": 1, "max_ulp": 128, "histogram": {"0": 99, "256": 1}, "first": first}
    parts["arms"]["B"]["receipt"]["beside"] = {"head": beside}


def test_a_candidate_that_differs_fails_on_bits_and_the_first_difference_is_named(tmp_path: Path) -> None:
    found = graded(tmp_path, spoiled(wrong))
    assert (found["outcome"], codes(found)[0]) == ("FAIL", "bits")
    says = found["reasons"][0]["says"]
    assert "tape prose, step 1 (position 24), logits of row 2, 6 rows" in says
    assert "layer 1, head, row 2 (tape prose, step 1)" in says
    assert "layer 1, head, row 2, element 17: control 3f80 (1), candidate 4000 (2)" in says


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (observed("B2", lambda t: t.update(state="0" * 16)), "B and its relaunch B2 differ"),
        (lambda p: p["arms"]["B"]["observe"][6][1][1]["tapes"][0].update(state="0" * 16), "B's two passes differ"),
        (observed("B", lambda t: t["steps"].pop()), "4 steps against 3"),
    ],
    ids=["relaunch", "replay and fills", "length"],
)
def test_bits_fails_for_a_candidate_that_does_not_repeat(
    spoil: Callable[[Parts], Any], says: str, tmp_path: Path
) -> None:
    found = graded(tmp_path, spoiled(spoil))
    assert found["outcome"] == "FAIL"
    assert says in next(each["says"] for each in found["findings"] if each["gate"] == "bits")


def test_a_candidate_whose_clocks_contradict_each_other_is_inconclusive(tmp_path: Path) -> None:
    def sleeps(parts: Parts) -> None:
        for tape in parts["arms"]["B"]["readings"][6]["tapes"]:
            tape["cpu_ns"] = [100_300_000 for _ in tape["cpu_ns"]]
            tape["wall_ns"] = [90_000_000 + at for at, _ in enumerate(tape["wall_ns"])]

    found = graded(tmp_path, spoiled(sleeps, gates=[speed(bar=-5000)]))
    assert (found["outcome"], codes(found)) == ("INCONCLUSIVE", ["clock"])


def speed(**other: Any) -> dict[str, Any]:
    return {"gate": "speed", "primary": True, "metric": "step_us", "rows": 6, "bar": -10000, "rule": "point"} | other


def test_a_gate_of_an_unknown_name_voids_the_window(tmp_path: Path) -> None:
    found = graded(tmp_path, windows.parts(gates=[speed(), {"gate": "vibes"}]))
    assert (found["outcome"], codes(found)) == ("INVALID", ["unknown_gate"])


# --- what it is as a record -----------------------------------------------------------------------------------------


def test_grading_again_gives_the_same_bytes_in_the_same_file(tmp_path: Path) -> None:
    name = windows.lay(tmp_path, windows.parts())
    _, first = verdict.grade(tmp_path, "demo", name)
    before = first.read_bytes()
    _, again = verdict.grade(tmp_path, "demo", name)
    assert (again, again.read_bytes()) == (first, before)
    assert len(list(first.parent.glob("verdict-*.json"))) == 1


def test_a_verdict_does_not_depend_on_what_else_lies_in_the_checkout(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    windows.lay(beside, windows.parts() | {"rung": "other"})
    paths = [verdict.grade(root, "demo", windows.lay(root, windows.parts()))[1] for root in (alone, beside)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_scripted_window_says_that_it_is_no_measurement(tmp_path: Path) -> None:
    found = graded(tmp_path, windows.parts(instrument="script"))
    assert (found["outcome"], found["note"]) == ("PASS", "script: not a measurement")


def test_a_window_that_was_never_opened_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "receipts" / "demo").mkdir(parents=True)
    with pytest.raises(window.NoWindow, match="no window 0badcafe"):
        verdict.grade(tmp_path, "demo", "0badcafe")


def test_a_start_without_receipts_is_graded_invalid(tmp_path: Path) -> None:
    found = graded(tmp_path, spoiled(lambda parts: parts["arms"].clear()))
    assert (found["outcome"], codes(found)[0]) == ("INVALID", "missing_arm")


def test_a_written_verdict_is_a_sound_record(tmp_path: Path) -> None:
    _, path = verdict.grade(tmp_path, "demo", windows.lay(tmp_path, windows.parts()))
    record = records.load(path)
    assert path.name == f"verdict-{record.d8}.json"
    assert "generated" not in json.dumps(record.value)


# --- how outcomes follow from findings ------------------------------------------------------------------------------


def found(answer: Any, code: str | None = None) -> Finding:
    return Finding("bits", answer, "because", code=code)


@pytest.mark.parametrize(
    ("unsound", "findings", "outcome"),
    [
        ([], [found("met")], "PASS"),
        ([], [found("met"), found("unmet")], "FAIL"),
        ([], [found("met"), found("void", "noise")], "INCONCLUSIVE"),
        ([], [found("unmet"), found("void", "noise")], "FAIL"),
        ([], [found("unmet"), found("void", "bad_reading")], "INVALID"),
        ([Reason("exploratory", "not committed")], [found("met")], "INVALID"),
        ([Reason("stray_bytes", "1 byte")], [found("unmet")], "INVALID"),
        ([], [], "INVALID"),
    ],
)
def test_the_worst_of_the_findings_makes_the_outcome(
    unsound: list[Reason], findings: list[Finding], outcome: str
) -> None:
    assert verdict.settle(unsound, findings)[0] == outcome


def test_grading_loads_nothing_heavy() -> None:
    code = "import sys, ladder.verdict, ladder.ledger, gates.judge, gates.speed, gates.bits; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {"torch", "numpy", "pandas", "scipy", "jsonschema"}.isdisjoint(loaded.split())
