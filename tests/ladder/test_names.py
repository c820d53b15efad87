"""Names that become paths, and the folders they would lead to."""

import sys
from pathlib import Path

import pytest

from ladder import checkout, names
from ladder.errors import BadName, LadderError, LinkedFolder, NotACheckout, ShadowedPackage, UnknownRung

BAD = [
    "../../escape",
    "/nonexistent-root/escape",
    "a/b",
    "x" * 300,
    "-rf",
    ".",
    "a\nb",
    "",
    "a ",
    "t9b-2\n",
    "é",
    "A B",
]


def a_checkout(folder: Path) -> Path:
    for name in ("rungs", "kernels"):
        (folder / name).mkdir()
    return folder


@pytest.mark.parametrize("kind", sorted(names.PATTERNS))
@pytest.mark.parametrize("name", [*BAD, None, False, 7, ["a"]], ids=repr)
def test_a_name_that_could_be_a_path_is_refused_with_the_pattern(kind: str, name: object) -> None:
    with pytest.raises(BadName) as refusal:
        names.check(kind, name)
    assert names.PATTERNS[kind] in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize("name", ["../../escape", "/abs/x", "a/b/c", "rmsnorm", "rmsnorm/-rf", "rmsnorm/.", "/", None])
def test_an_address_is_an_operation_and_a_kernel(name: object) -> None:
    with pytest.raises(BadName):
        names.address(name)


def test_an_address_in_order_is_split() -> None:
    assert names.address("rmsnorm/torch_split") == ("rmsnorm", "torch_split")


@pytest.mark.parametrize("rung", BAD)
def test_a_bad_rung_name_creates_nothing(tmp_path: Path, rung: str) -> None:
    root = a_checkout(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for lookup in (checkout.receipts_folder, checkout.card_path, checkout.rung_of):
        with pytest.raises(LadderError):
            lookup(root, rung)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("linked", ["receipts", "receipts/a-rung", "rungs"])
def test_a_linked_folder_is_refused(tmp_path: Path, linked: str) -> None:
    root = tmp_path / "root"
    for folder in (root, tmp_path / "elsewhere"):
        folder.mkdir()
    a_checkout(root)
    if linked == "rungs":
        (root / "rungs").rmdir()
    (root / linked).parent.mkdir(exist_ok=True)
    (root / linked).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(LinkedFolder):
        checkout.receipts_folder(root, "a-rung")
        checkout.card_path(root, "a-rung")


def test_a_linked_card_is_refused(tmp_path: Path) -> None:
    root = a_checkout(tmp_path)
    (root / "rungs" / "a.yaml").symlink_to(tmp_path / "other.yaml")
    with pytest.raises(UnknownRung, match="symbolic link"):
        checkout.card_path(root, "a")


def test_the_root_is_found_from_any_folder_of_the_checkout(tmp_path: Path) -> None:
    deep = a_checkout(tmp_path) / "kernels" / "rmsnorm"
    deep.mkdir()
    assert checkout.find_root(deep) == tmp_path


def test_a_folder_outside_any_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotACheckout, match="rungs/"):
        checkout.find_root(tmp_path)


def test_an_unknown_rung_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    (a_checkout(tmp_path) / "rungs" / "t9b-4.yaml").touch()
    with pytest.raises(UnknownRung, match="did you mean 't9b-4'"):
        checkout.card_path(tmp_path, "t9b_4")


@pytest.mark.parametrize("given", ["t9b-4", "rungs/t9b-4.yaml"])
def test_a_rung_may_be_named_or_pointed_at(tmp_path: Path, given: str) -> None:
    assert checkout.rung_of(a_checkout(tmp_path), given) == "t9b-4"


@pytest.mark.parametrize("given", ["elsewhere/t9b-4.yaml", "rungs/../t9b-4.yaml", "t9b-4.yml"])
def test_a_card_outside_the_checkout_is_no_rung(tmp_path: Path, given: str) -> None:
    with pytest.raises(UnknownRung, match=r"rungs/<rung>\.yaml"):
        checkout.rung_of(a_checkout(tmp_path), given)


def test_a_package_that_comes_from_elsewhere_is_said_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a_checkout(tmp_path) / "kernels" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", list(sys.path))
    import kernels  # noqa: F401  the one of this project, so that it is already loaded

    with pytest.raises(ShadowedPackage, match="SHADOWED: `kernels`"):
        checkout.put_first(tmp_path)


def test_a_name_close_to_a_known_one_is_suggested() -> None:
    assert names.nearest("ms-delta", ["ms_delta", "max_ulp"]) == "; did you mean 'ms_delta'?"
    assert names.nearest("zzz", ["ms_delta"]) == ""
