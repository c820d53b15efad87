"""Registration: what was committed before a run, and what has changed since."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from ladder import code, plan, records, registration
from ladder.registration import MeaningChanged, NotCommitted, NothingToRevise
from tests.ladder import checkouts
from tests.ladder.checkouts import RUNG, commit_all, write_card


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return checkouts.make(tmp_path / "checkout")


def stands(root: Path) -> registration.Standing:
    made = plan.make(root, RUNG, "cpu")
    return registration.for_run(root, made, code.of_plan(root, made))


def registered(root: Path, **other: Any) -> dict[str, Any]:
    return dict(registration.register(root, RUNG, "cpu", **other).value)


def append(root: Path, path: str) -> None:
    with (root / path).open("a") as file:
        file.write("\n# changed\n")


def test_a_run_registers_what_is_committed(root: Path) -> None:
    found = stands(root)
    assert found.record is not None and found.record.value["revision"] == 1
    assert (found.exploratory, found.dirty) == ((), False)
    assert found.record.value["commit"] == found.commit == checkouts.git(root, "rev-parse", "HEAD").strip()


def test_the_same_card_and_code_are_registered_once(root: Path) -> None:
    assert stands(root).record == stands(root).record
    assert len(list((root / "receipts" / RUNG).glob("registration-*.json"))) == 1


@pytest.mark.parametrize(
    "path",
    [
        "rungs/demo.yaml",
        "kernels/order.py",
        "kernels/head/torch_slowed.py",
        "ladder/worker.py",
        "rungs/scripts/played.json",
    ],
)
def test_what_is_not_committed_makes_a_run_exploratory(root: Path, path: str) -> None:
    append(root, path) if not path.endswith(".json") else (root / path).write_text('{"script": 1}')
    found = stands(root)
    assert found.record is None
    assert found.exploratory == (f"{path} is not committed",)


def test_a_change_that_the_index_was_told_to_overlook_is_seen(root: Path) -> None:
    checkouts.git(root, "update-index", "--assume-unchanged", "kernels/order.py")
    append(root, "kernels/order.py")
    assert stands(root).exploratory == ("kernels/order.py is not committed",)


def test_a_staged_change_is_not_committed(root: Path) -> None:
    append(root, "kernels/order.py")
    checkouts.git(root, "add", "-A")
    assert stands(root).exploratory == ("kernels/order.py is not committed",)


def test_new_records_and_the_rendered_ledger_make_nothing_dirty(root: Path) -> None:
    stands(root)
    (root / "LEDGER.md").write_text("# Ledger\n")
    assert stands(root).dirty is False


def test_code_that_neither_runs_nor_grades_may_be_uncommitted(root: Path) -> None:
    (root / "notes.py").write_text("")
    found = stands(root)
    assert found.record is not None and found.dirty is True


@pytest.mark.parametrize("path", ["gates/speed.py", "gates/judge.py", "ladder/soundness.py", "ladder/verdict.py"])
def test_a_grader_that_is_not_committed_makes_a_run_exploratory(root: Path, path: str) -> None:
    append(root, path)
    found = stands(root)
    assert found.record is None and found.exploratory == (f"{path} is not committed",)


def test_a_repository_without_a_commit_is_exploratory(tmp_path: Path) -> None:
    root = checkouts.make(tmp_path / "checkout", commit=False)
    checkouts.git(root, "init", "-q")
    assert stands(root).record is None and stands(root).exploratory


def test_another_code_change_registers_anew_and_lists_what_changed(root: Path) -> None:
    first = stands(root).record
    append(root, "kernels/order.py")
    commit_all(root)
    second = stands(root).record
    assert first and second and second.sha256 != first.sha256
    assert (second.value["revision"], second.value["changed"]) == (1, ["kernels/order.py"])


def test_a_changed_bar_is_refused_until_it_is_revised(root: Path) -> None:
    stands(root)
    write_card(root, bar=-50)
    commit_all(root)
    with pytest.raises(MeaningChanged, match=r"the card's gates changed since revision 1.*--revise --why"):
        stands(root)
    revised = registered(root, revise=True, why="the bar was a guess")
    assert (revised["revision"], revised["why"]) == (2, "the bar was a guess")
    assert stands(root).record is not None


def test_a_changed_candidate_kernel_is_refused_until_it_is_revised(root: Path) -> None:
    stands(root)
    append(root, "kernels/head/torch_slowed.py")
    commit_all(root)
    with pytest.raises(MeaningChanged, match=r"kernels/head/torch_slowed\.py changed"):
        stands(root)
    assert registered(root, revise=True, why="unrolled")["revision"] == 2


def test_going_back_to_an_earlier_meaning_is_a_revision_too(root: Path) -> None:
    stands(root)
    write_card(root, bar=-50)
    commit_all(root)
    registered(root, revise=True, why="lower")
    write_card(root)
    commit_all(root)
    with pytest.raises(MeaningChanged):
        stands(root)


def test_a_comment_in_the_card_is_no_change(root: Path) -> None:
    first = stands(root).record
    append(root, "rungs/demo.yaml")
    commit_all(root)
    assert stands(root).record == first


def test_registering_needs_a_commit(root: Path) -> None:
    append(root, "kernels/order.py")
    with pytest.raises(NotCommitted, match=r"kernels/order\.py: commit"):
        registered(root)


def test_there_is_nothing_to_revise_before_the_first_registration_or_without_a_change(root: Path) -> None:
    with pytest.raises(NothingToRevise, match="never registered"):
        registered(root, revise=True, why="because")
    stands(root)
    with pytest.raises(NothingToRevise, match="as they were registered"):
        registered(root, revise=True, why="because")


def test_without_git_the_registration_that_came_along_counts_if_the_code_is_the_same(root: Path) -> None:
    first = stands(root).record
    shutil.rmtree(root / ".git")
    assert stands(root).record == first
    append(root, "kernels/order.py")
    found = stands(root)
    assert (found.record, found.exploratory) == (None, (registration.NO_GIT,))


def test_without_git_nothing_can_be_registered(tmp_path: Path) -> None:
    root = checkouts.make(tmp_path / "checkout", commit=False)
    with pytest.raises(NotCommitted, match="no git here"):
        registered(root)


def test_a_registration_says_by_digest_what_it_registers(root: Path) -> None:
    value = registered(root)
    assert value["code"]["kernels/head/torch_slowed.py"] and value["third_party"]["torch"]
    assert records.scan(root)[0].value == value
