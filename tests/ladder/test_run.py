"""The whole pipeline, card to ledger, with a script in place of a model."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ladder import ledger, lock, progress, verdict
from ladder.errors import BadCard
from ladder.report import Outcome
from ladder.run import run
from tests.ladder import checkouts
from tests.ladder.checkouts import RUNG, commit_all, write_card, write_script

NOISY = {**checkouts.QUIET, "boot_sd_ns": 2_000_000}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return checkouts.make(tmp_path / "checkout")


def played(root: Path, script: dict[str, Any] | None = None, **card: Any) -> Outcome:
    """A run of the card under a script, both committed."""
    write_script(root, script or {})
    write_card(root, **card)
    if checkouts.git(root, "status", "--porcelain"):
        commit_all(root)
    return run(root, RUNG, "cpu", progress=progress.Silent())


def codes(outcome: Outcome) -> set[str]:
    return {reason["code"] for reason in outcome.verdict["reasons"]}


def receipt(root: Path, outcome: Outcome, arm: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / outcome.receipts / f"{arm}.json").read_text())
    return found


def ends(root: Path, outcome: Outcome) -> dict[str, str]:
    return {arm: receipt(root, outcome, arm)["ended"] for arm in ("A", "B", "A2", "B2")}


def workers(root: Path) -> list[int]:
    """Processes that work in this checkout."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"ladder.worker" in (entry / "cmdline").read_bytes() and (entry / "cwd").readlink() == root:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def is_sound(root: Path, outcome: Outcome) -> bool:
    """No process is left, the ledger agrees, and grading again gives the same verdict."""
    _, path = verdict.grade(root, RUNG, outcome.verdict["window"])
    return workers(root) == [] and ledger.check(root) == [] and path.name in outcome.text


# Outcomes


@pytest.mark.parametrize("design", ["turns", "A-B-A2"])
def test_a_faster_candidate_with_equal_bits_passes(root: Path, design: str) -> None:
    outcome = played(root, design=design)
    assert outcome.outcome == outcome.standing == "PASS"
    assert set(ends(root, outcome).values()) == {"done"}
    assert is_sound(root, outcome)


def test_the_answer_tells_the_difference_in_ms_the_findings_the_records_and_the_standing(root: Path) -> None:
    text = played(root).text
    assert re.search(r"6 rows: -\d\.\d+ ms \(-1\.\d+ to -0\.9\d+\), step by step, on a control of \d+\.\d+ ms", text)
    assert "met       bits" in text and f"receipts/{RUNG}/" in text and "standing  demo (cpu): PASS" in text
    assert "script: not a measurement" in text


MORE = [
    ("{gate: ulp, max_ulp: 1}", {"beside": {"B": {"differing": 9, "max_ulp": 1}}}, "PASS"),
    ("{gate: ulp, max_ulp: 1}", {"beside": {"B": {"differing": 9, "max_ulp": 2}}}, "FAIL"),
    ("{gate: ulp, max_ulp: 1}", {}, "INVALID"),
    ("{gate: drift, max_dlogprob: 0.01}", {}, "PASS"),
    ("{gate: drift, max_dlogprob: 0.01}", {"drift": {"B": {"dlogprob_nano": 10_000_001}}}, "FAIL"),
    ("{gate: drift, mean_kl: 0.001}", {"drift": {"B": {"kl_nano": 1_000_001}}}, "FAIL"),
    ("{gate: drift, flips: 1}", {"drift": {"B": {"flips": 1}}}, "FAIL"),  # one on each of eight tapes
    ("{gate: drift, max_dlogprob: 0.01}", {"drift": {"A2": {"dlogprob_nano": 20_000_000}}}, "INCONCLUSIVE"),
    ("{gate: soak, calls: 1000}", {}, "PASS"),
    ("{gate: soak, calls: 1000}", {"soak": {"B2": {"differing": 1, "first": 12}}}, "FAIL"),
    ("{gate: bits, over: [logits], repeat: 32}", {"repeat": {"B": {"differing": 1, "first": 7}}}, "FAIL"),
    ("{gate: bits, over: [logits], repeat: 32}", {}, "PASS"),
    ("{gate: no_worse, metric: step_us, rows: 1, within: 100, by_tape: true}", {}, "PASS"),
    ("{gate: budget, peak_mib: 10000, boot_s: 60}", {}, "PASS"),
    ("{gate: budget, peak_mib: 1}", {}, "FAIL"),
]


@pytest.mark.parametrize(("gate", "script", "outcome"), MORE)
def test_every_gate_is_asked_of_what_the_arms_left(root: Path, gate: str, script: Any, outcome: str) -> None:
    found = played(root, script, more=f"      - {gate}\n")
    assert found.outcome == outcome, found.text
    assert is_sound(root, found)


def test_what_a_gate_asks_for_is_asked_in_sequence_too(root: Path) -> None:
    more = "      - {gate: drift, flips: 0}\n      - {gate: soak, calls: 100}\n      - {gate: soak, calls: 10}\n"
    assert played(root, design="A-B-A2", more=more).outcome == "PASS"


def test_a_vacuous_gate_is_refused_before_anything_is_opened(root: Path) -> None:
    with pytest.raises(BadCard, match=r"gates\[5\]: vacuous: it lets zeros through"):
        played(root, more="      - {gate: drift, max_dlogprob: 50}\n")
    assert not (root / "receipts").exists()


def test_a_slower_candidate_fails(root: Path) -> None:
    outcome = played(root, {"readings": {**checkouts.QUIET, "effect_ns": 1_000_000}})
    assert (outcome.outcome, codes(outcome)) == ("FAIL", {"speed"})
    assert is_sound(root, outcome)


def test_a_candidate_with_other_bits_fails_and_the_place_is_named(root: Path) -> None:
    outcome = played(root, {"differs": {"treatment": {"tape": "code", "position": 14}}})
    assert (outcome.outcome, codes(outcome)) == ("FAIL", {"bits"})
    assert "tape code, step 2 (position 14), logits of row 0" in outcome.text


def test_boots_farther_apart_than_the_effect_are_inconclusive(root: Path) -> None:
    outcome = played(root, {"readings": NOISY})
    assert (outcome.outcome, codes(outcome)) == ("INCONCLUSIVE", {"noise"})


def test_readings_as_a_script_lists_them_are_played_in_order(root: Path) -> None:
    outcome = played(root, {"readings": {"control": [10_000, 30_000], "treatment": [5_000]}})
    name = receipt(root, outcome, "A")["measure"][0]["sidecar"]["name"]
    tapes = json.loads((root / outcome.receipts / name).read_text())["tapes"]
    assert tapes[0]["wall_ns"][:4] == [10_000, 30_000, 10_000, 30_000]


def test_uncommitted_work_is_exploratory_and_never_passes(root: Path) -> None:
    write_card(root, bar=-50)
    outcome = run(root, RUNG, "cpu", progress=progress.Silent())
    assert (outcome.outcome, codes(outcome)) == ("INVALID", {"exploratory"})
    assert "commit, then run again" in outcome.text and "rungs/demo.yaml" in outcome.text
    assert list((root / "receipts" / RUNG).glob("registration-*")) == []


def test_every_attempt_stays(root: Path) -> None:
    played(root)
    second = played(root)
    assert len(list((root / "receipts" / RUNG).glob("*/start.json"))) == 2
    assert "2 of 2" in second.text and is_sound(root, second)


# Faults


@pytest.mark.parametrize("arm", ["A", "B", "B2"])
@pytest.mark.parametrize("work", ["boot", "observe"])
def test_a_worker_that_dies_leaves_a_receipt_and_the_others_are_kept(root: Path, arm: str, work: str) -> None:
    outcome = played(root, {"faults": {arm: {"crash_after": work}}})
    assert (outcome.outcome, ends(root, outcome)[arm]) == ("INVALID", "crashed")
    assert receipt(root, outcome, arm)["trouble"][0]["says"] == "the process exited with 70"
    assert receipt(root, outcome, "A2")["observe"]
    assert is_sound(root, outcome)


def test_a_death_while_measuring_ends_the_window_there(root: Path) -> None:
    outcome = played(root, {"faults": {"B": {"crash_after": "measure"}}})
    assert ends(root, outcome) == {"A": "interrupted", "B": "crashed", "A2": "interrupted", "B2": "interrupted"}
    assert "nothing can be decided without it" in outcome.text
    assert is_sound(root, outcome)


def test_an_exception_in_a_worker_is_told_by_its_name(root: Path) -> None:
    outcome = played(root, {"faults": {"B": {"fails": "beside"}}})
    assert receipt(root, outcome, "B")["trouble"][0] == {
        "code": "arithmetic_error",
        "says": "ArithmeticError: scripted failure in beside",
    }
    assert "scripted failure" in (next((root / ".ladder" / "logs").rglob("B.log"))).read_text()


def test_a_worker_that_hangs_is_ended_when_its_budget_is(root: Path) -> None:
    began = time.monotonic()
    outcome = played(root, {"faults": {"B": {"hang": "observe"}}}, measure_s=1)
    assert (outcome.outcome, ends(root, outcome)["B"]) == ("INVALID", "hung")
    assert time.monotonic() - began < 10 and is_sound(root, outcome)


def test_a_boot_that_hangs_is_ended_too(root: Path) -> None:
    outcome = played(root, {"faults": {"A": {"hang": "boot"}}}, boot_s=1)
    assert ends(root, outcome)["A"] == "hung" and "to boot" in receipt(root, outcome, "A")["trouble"][0]["says"]


def test_stray_bytes_on_the_pipe_are_counted_and_void_the_window(root: Path) -> None:
    outcome = played(root, {"faults": {"B": {"garbage": "observe"}}})
    assert (outcome.outcome, codes(outcome)) == ("INVALID", {"stray_bytes"})
    assert receipt(root, outcome, "B")["foreign_bytes"] == 4 * len("stray words on the pipe\n")


# Signals


def started(root: Path) -> subprocess.Popen[str]:
    """A run in a process of its own, whose B hangs; returned once its window is open and all arms wait on B."""
    write_script(root, {"faults": {"B": {"hang": "measure"}}})
    commit_all(root)
    words = [sys.executable, "-m", "ladder", "run", RUNG, "--profile", "cpu"]
    child = subprocess.Popen(
        words,
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup would have it ignored
    )
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("measuring"):
            break
    time.sleep(0.3)
    return child


def only_window(root: Path) -> dict[str, Any]:
    (start,) = (root / "receipts" / RUNG).glob("*/start.json")
    return {path.stem: json.loads(path.read_text()) for path in start.parent.glob("[A-Z]*.json")}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_closes_the_window_with_what_there_is(root: Path, number: signal.Signals) -> None:
    child = started(root)
    child.send_signal(number)
    text, _ = child.communicate(timeout=20)
    assert child.returncode == 4 and "INVALID" in text and f"{number.name} came from outside" in text
    arms = only_window(root)
    assert {arm: each["ended"] for arm, each in arms.items()} == {
        "A": "interrupted",
        "A2": "interrupted",
        "B": "interrupted",
        "B2": "interrupted",
    }
    assert arms["A"]["observe"] and workers(root) == [] and ledger.check(root) == []


def test_a_worker_that_is_killed_is_a_crash(root: Path) -> None:
    child = started(root)
    for worker in workers(root):
        os.kill(worker, signal.SIGKILL)
    text, _ = child.communicate(timeout=20)
    assert child.returncode == 4 and "SIGKILL" in text
    assert "crashed" in {each["ended"] for each in only_window(root).values()}


def test_no_worker_outlives_a_parent_that_is_killed_and_the_next_run_starts(root: Path) -> None:
    child = started(root)
    child.kill()
    child.communicate(timeout=20)
    until = time.monotonic() + 5
    while workers(root) and time.monotonic() < until:
        time.sleep(0.05)
    assert workers(root) == []
    outcome = played(root)
    assert outcome.outcome == "PASS" and "1 undecided (ungraded)" in outcome.text


def test_a_second_run_says_so_and_exits_with_1(root: Path) -> None:
    with lock.held(root):
        words = [sys.executable, "-m", "ladder", "run", RUNG, "--profile", "cpu"]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "another run is at work" in done.stderr


def test_a_reader_that_goes_away_does_not_end_the_run(root: Path) -> None:
    words = f"{sys.executable} -m ladder run {RUNG} --profile cpu 2>&1 | head -1"
    subprocess.run(["/bin/sh", "-c", words], cwd=root, capture_output=True, timeout=30)
    assert list((root / "receipts" / RUNG).glob("*/verdict-*.json"))


# What a receipt holds


def test_a_receipt_names_nobody_and_no_place_outside_the_checkout(root: Path) -> None:
    outcome = played(root, {"faults": {"B": {"fails": "beside"}}})
    text = "".join(path.read_text() for path in (root / outcome.receipts).glob("*.json"))
    assert str(root) not in text and str(Path.home()) not in text and os.environ.get("HOSTNAME", "\0") not in text


def test_a_file_that_no_import_of_the_plan_reaches_is_trouble(root: Path) -> None:
    (root / "ladder" / "stowaway.py").write_text('"""Came along."""\n')
    with (root / "ladder" / "pipe.py").open("a") as file:
        file.write("\nimport importlib\n\nimportlib.import_module('ladder.' + 'stowaway')\n")
    outcome = played(root)
    assert outcome.outcome == "INVALID" and "unregistered_code" in codes(outcome)


def test_the_environment_of_a_worker_holds_nothing_of_the_callers(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ladder.arm import environment

    monkeypatch.setenv("API_TOKEN", "hunter2")
    assert "hunter2" not in str(environment(root)) and environment(root)["OMP_NUM_THREADS"] == "1"
