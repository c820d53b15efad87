"""Equal digests are met; the first unlike one is named, down to the element where that is known."""

from typing import Any

import pytest

from gates.finding import Finding
from gates.judge import judge
from tests.gates import windows

ALL = {"gate": "bits", "over": ["logits", "tokens", "state"]}
ROWS = {"workload": {"rows": [2]}}


def run(**edits: Any) -> dict[str, Any]:
    """Three steps of two rows; `state` is the tape's, and any other key is the second step's."""
    state = {"state": edits.pop("state")} if "state" in edits else {}
    return windows.observe(2, [windows.step(0, 2), windows.step(1, 2, **edits), windows.step(2, 2)], **state)


def found(passes: dict[str, list[dict[str, Any]]], gate: dict[str, Any] | None = None) -> Finding:
    """The gate's answer where each arm made these observe passes, with fills 5a, ff, 5a, ..."""
    sidecars, arms = {}, []
    for name, documents in passes.items():
        observed = []
        for at, document in enumerate(documents):
            key = repr(document)  # equal documents are one sidecar, as on disk
            sidecars[key] = document
            observed.append(windows.observed(2, key, fill=("5a", "ff")[at % 2]))
        arms.append(windows.arm(name, observed))
    return judge(gate or ALL, windows.window(arms, sidecars, **ROWS))


def against(candidate: dict[str, Any], **gate: Any) -> Finding:
    return found({"A": [run()], "B": [candidate], "A2": [run()]}, ALL | gate)


def test_equal_runs_are_met_and_counted() -> None:
    finding = against(run())
    assert (finding.finding, finding.numbers) == ("met", {"steps": 4, "tapes": 1})


@pytest.mark.parametrize(
    ("edits", "part", "says"),
    [
        ({"logits": ["f" * 16, f"{2:016x}"]}, "logits", "step 1 (position 1), logits of row 0"),
        ({"logits": [f"{1:016x}", "f" * 16]}, "logits", "step 1 (position 1), logits of row 1"),
        ({"argmax": [1, 2]}, "tokens", "step 1 (position 1), argmax of row 1"),
        ({"accepted": 1}, "tokens", "step 1 (position 1), accepted"),
        ({"emitted": [1, 1]}, "tokens", "step 1 (position 1), emitted of row 1"),
        ({"drafts": [2]}, "tokens", "step 1 (position 1), drafts of row 0"),
        ({"state": "t"}, "state", "tape prose, the cache state at its end"),
    ],
)
def test_what_differs_is_named_and_only_where_the_gate_looks(edits: dict[str, Any], part: str, says: str) -> None:
    finding = against(run(**edits), over=[part])
    assert finding.finding == "unmet" and says in finding.says
    others = [other for other in ALL["over"] if other != part]
    assert against(run(**edits), over=others).finding == "met"


def test_a_shuffled_output_the_step_before_and_zeros_are_all_caught() -> None:
    """The gate's negative controls."""
    shuffled, before, zeros = run(), run(), run()
    for step in shuffled["tapes"][0]["steps"]:
        step["logits"] = step["logits"][::-1]
    for step, last in zip(before["tapes"][0]["steps"][1:], run()["tapes"][0]["steps"], strict=False):
        step["logits"] = last["logits"]
    for step in zeros["tapes"][0]["steps"]:
        step["logits"] = ["0" * 16] * 2
    assert [against(wrong).finding for wrong in (shuffled, before, zeros)] == ["unmet"] * 3


def test_a_run_that_stops_early_differs() -> None:
    short = run()
    short["tapes"][0]["steps"].pop()
    assert "3 steps against 2" in against(short).says


@pytest.mark.parametrize("asked", ["replay", "fills"])
def test_a_candidate_must_give_its_own_bits_again(asked: str) -> None:
    again = {"A": [run()], "A2": [run()], "B": [run(), run(state="t")]}
    assert "B's two passes differ (fills 5a and ff)" in found(again, ALL | {asked: True}).says
    assert found(again, ALL).finding == "met"


def test_a_second_process_must_give_the_candidates_bits() -> None:
    again = {"A": [run()], "A2": [run()], "B": [run()], "B2": [run(accepted=1)]}
    finding = found(again, ALL | {"relaunch": True})
    assert finding.finding == "unmet" and "B and its relaunch B2 differ" in finding.says


@pytest.mark.parametrize(
    ("gate", "passes", "code"),
    [
        ({"replay": True}, {"B": [run()]}, "missing_pass"),
        ({"fills": True}, {"B": [run()]}, "missing_pass"),
        ({"relaunch": True}, {"B": [run()]}, "missing_arm"),
        ({}, {}, "missing_arm"),
        ({}, {"B": []}, "missing_pass"),
    ],
)
def test_what_was_not_run_again_is_not_taken_for_equal(gate: Any, passes: Any, code: str) -> None:
    finding = found({"A": [run()], "A2": [run()], **passes}, ALL | gate)
    assert (finding.finding, finding.code) == ("void", code)


def test_fills_needs_two_fills_and_not_just_two_passes() -> None:
    same = {"A": [run()], "A2": [run()], "B": [run()]}
    arms = [windows.arm(name, [windows.observed(2, "x"), windows.observed(2, "x")]) for name in same]
    finding = judge(ALL | {"fills": True}, windows.window(arms, {"x": run()}, **ROWS))
    assert (finding.code, "share one fill" in finding.says) == ("missing_pass", True)


@pytest.mark.parametrize("unlike", [{"A": [run(), run(state="t")]}, {"A2": [run(accepted=1)]}])
def test_a_control_that_does_not_repeat_itself_voids_it(unlike: dict[str, Any]) -> None:
    finding = found({"A": [run()], "A2": [run()], "B": [run()], **unlike})
    assert (finding.finding, finding.code) == ("void", "controls_apart")


def test_a_missing_sidecar_is_never_equal() -> None:
    arms = [windows.arm(name, [windows.observed(2, name)]) for name in ("A", "B", "A2")]
    finding = judge(ALL, windows.window(arms, {}, **ROWS))
    assert (finding.finding, finding.code) == ("void", "sidecar_missing")
