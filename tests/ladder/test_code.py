"""The closure: what an arm can execute, found without running it."""

from pathlib import Path

import pytest

from ladder import code, plan
from tests.ladder import checkouts

FILES = {
    "kernels/__init__.py": "",
    "kernels/order.py": "import math\n",
    "kernels/head/__init__.py": "",
    "kernels/head/reference.py": "import torch\nfrom kernels import order\n",
    "kernels/head/shared.py": "",
    "kernels/head/torch_new.py": "import kernels.head.reference\ndef f():\n    from kernels.head import shared\n",
    "kernels/head/torch_other.py": "from . import shared\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_it_follows_imports_wherever_they_stand_with_the_packages_above(root: Path) -> None:
    files, outside = code.reach(root, ["kernels/head/torch_new.py"])
    assert files == set(FILES) - {"kernels/head/torch_other.py"}
    assert outside == {"torch"}


def test_it_follows_relative_imports(root: Path) -> None:
    files, _ = code.reach(root, ["kernels/head/torch_other.py"])
    assert "kernels/head/shared.py" in files and "kernels/head/reference.py" not in files


def test_a_file_that_is_no_python_is_named(root: Path) -> None:
    (root / "kernels/order.py").write_text("def\n")
    with pytest.raises(code.UnreadableCode, match=r"kernels/order\.py"):
        code.reach(root, ["kernels/head/reference.py"])


def test_a_plans_closure_holds_its_kernels_every_reference_the_worker_and_the_script(tmp_path: Path) -> None:
    root = checkouts.make(tmp_path / "checkout", commit=False)
    files = code.of_plan(root, plan.make(root, "demo", "cpu")).files
    wanted = {"ladder/worker.py", "ladder/pipe.py", "kernels/head/torch_slowed.py", "rungs/scripts/played.json"}
    assert wanted < set(files)
    assert "kernels/rmsnorm/reference.py" in files and "kernels/rmsnorm/torch_split.py" not in files
    assert "ladder/cli.py" not in files and "gates/speed.py" not in files


def test_the_candidates_own_files_are_those_that_no_control_could_run(tmp_path: Path) -> None:
    root = checkouts.make(tmp_path / "checkout", commit=False)
    made = plan.make(root, "demo", "cpu")
    assert code.candidate_files(root, made) == {"kernels/head/torch_slowed.py"}


def test_the_digest_follows_a_files_bytes(tmp_path: Path) -> None:
    root = checkouts.make(tmp_path / "checkout", commit=False)
    made = plan.make(root, "demo", "cpu")
    before = code.of_plan(root, made)
    with (root / "kernels" / "order.py").open("a") as file:
        file.write("\n")
    assert code.of_plan(root, made).sha256 != before.sha256
