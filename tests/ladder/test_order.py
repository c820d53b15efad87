"""Git proves, contradicts, or cannot tell that a registration came before its window."""

import subprocess
from pathlib import Path

import pytest

from ladder import order, records
from tests.ladder import windows


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def told(root: Path, *commits: str) -> str:
    """The order of a window whose registration (r) and start (s) came in these commits."""
    window = windows.lay(root, windows.parts())
    folder = root / "receipts" / "demo"
    registration, start = next(folder.glob("registration-*")), folder / window / "start.json"
    paths = {"r": registration, "s": start}
    if commits:
        git(root, "init", "-q")
    for letters in commits:
        git(root, "add", *(str(paths[letter]) for letter in letters))
        git(root, "commit", "-q", "-m", letters)
    return order.order(root, records.load(registration), records.load(start))


@pytest.mark.parametrize(
    ("commits", "says"),
    [(("r", "s"), "proven"), (("s", "r"), "contradicted"), (("rs",), "unproven"), (("r",), "unproven")],
)
def test_the_order_of_two_commits_is_the_order_of_their_records(
    tmp_path: Path, commits: tuple[str, ...], says: str
) -> None:
    assert told(tmp_path, *commits) == says


def test_without_git_the_order_is_unproven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert told(tmp_path) == "unproven"


def test_a_registration_dated_after_its_window_contradicts_it(tmp_path: Path) -> None:
    built = windows.parts() | {"registration": {"at": "2026-12-02T00:00:00Z"}}
    folder = tmp_path / "receipts" / "demo"
    start = folder / windows.lay(tmp_path, built) / "start.json"
    registration = next(folder.glob("registration-*"))
    assert order.order(tmp_path, records.load(registration), records.load(start)) == "contradicted"


def test_a_window_without_a_registration_is_unproven(tmp_path: Path) -> None:
    folder = tmp_path / "receipts" / "demo"
    start = folder / windows.lay(tmp_path, windows.parts()) / "start.json"
    assert order.order(tmp_path, None, records.load(start)) == "unproven"
