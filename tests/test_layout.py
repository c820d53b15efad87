"""The import rule: who may import whom, and what the parent process may not load."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"gates", "kernels", "ladder", "runtime"}
MAY_IMPORT = {
    "kernels": {"kernels"},
    "gates": {"gates"},
    "runtime": {"runtime", "kernels"},
    "ladder": {"ladder", "gates"},
}
WORKER = "ladder/worker.py"
HEAVY = {"torch", "numpy", "pandas", "scipy", "triton", "safetensors"}


def imported(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Top-level package, line, and whether the import runs when the module is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides who imports whom"
            names = [node.module or ""]
        else:
            continue
        at_load = id(node) not in inside and id(node) not in typing_only
        yield from ((name.split(".")[0], node.lineno, at_load) for name in names)


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(OURS))
def test_a_package_imports_only_what_the_design_allows(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(package)
        for name, line, _ in imported(path)
        if name in OURS - MAY_IMPORT[package] and path.relative_to(ROOT).as_posix() != WORKER
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["gates", "ladder"])
def test_the_parent_loads_nothing_heavy(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} loads {name}"
        for path in sources(package)
        for name, line, at_load in imported(path)
        if name in HEAVY and at_load and path.relative_to(ROOT).as_posix() != WORKER
    ]
    assert wrong == []


@pytest.mark.parametrize("package", sorted(OURS))
def test_every_module_opens_with_what_it_is_for(package: str) -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(package)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "common", "helpers", "helper", "misc"}
    assert [str(p) for package in OURS for p in sources(package) if p.stem in drawers] == []


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["ls"], ["ledger", "--check"], ["plan", "rungs/t9b-4.yaml", "--profile", "cpu"], ["show", "t9b-4"]],
    ids=lambda arguments: arguments[0],
)
def test_a_command_that_measures_nothing_never_loads_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from ladder.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'pandas', 'scipy', 'numpy', 'scipy.stats'} & set(sys.modules)\n"
        "sys.stderr.write('HEAVY ' + ' '.join(sorted(heavy)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stderr.rsplit("HEAVY ", 1)[-1] == "", done.stderr
