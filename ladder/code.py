"""The code that an arm can execute: every project file within reach of its imports, by digest."""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gates.digest import digest, meaning_digest
from ladder import box, sites
from ladder.checkout import PACKAGES
from ladder.errors import LadderError
from ladder.plan import Plan

WORKER = "ladder/worker.py"
DATA = ("runtime/sites.json", "runtime/tapes/*.txt")  # read by the worker, and as good as code
DISTRIBUTIONS = {"yaml": "PyYAML"}  # where an import name is not the distribution's


class UnreadableCode(LadderError):
    """A project file that an arm would load is not Python."""


@dataclass(frozen=True)
class Closure:
    """sha256 by path in the checkout, and the versions of what is imported from elsewhere."""

    files: dict[str, str]
    third_party: dict[str, str]

    @property
    def sha256(self) -> str:
        """One digest over the project's files; third parties are told apart by version."""
        return meaning_digest(self.files)


def of_plan(root: Path, made: Plan) -> Closure:
    """Of everything that the plan's arms can execute, and the data files that stand beside it."""
    starts = [WORKER, f"ladder/instruments/{made.instrument}.py", *_kernels(root, made)]
    files, outside = reach(root, starts)
    data = [path.relative_to(root).as_posix() for pattern in DATA for path in root.glob(pattern)]
    if script := made.workload.get("script"):
        data.append(f"rungs/scripts/{script}.json")
    hashed = {path: digest((root / path).read_bytes()) for path in sorted({*files, *data}) if (root / path).is_file()}
    versions = {name: box.version(DISTRIBUTIONS.get(name, name)) for name in sorted(outside)}
    return Closure(hashed, {name: found for name, found in versions.items() if found})


def candidate_files(root: Path, made: Plan) -> set[str]:
    """Files that the candidate's kernels at changed sites can execute, and that no control could."""
    references = {f"{site.operation}/reference" for site in sites.read(root).values()}
    own, _ = reach(root, [f"kernels/{made.candidate[site]}.py" for site in made.changed if site in made.candidate])
    others, _ = reach(root, [f"kernels/{address}.py" for address in references | set(made.control.values())])
    return own - others


def reach(root: Path, starts: Iterable[str]) -> tuple[set[str], set[str]]:
    """Project files reached from these by imports wherever they stand, and names imported from elsewhere."""
    waiting = [path for path in starts if (root / path).is_file()]
    files: set[str] = set()
    outside: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        files.add(path)
        for name in (*_packages_of(path), *_imports(root / path, path)):
            if name.split(".")[0] not in PACKAGES:
                outside.add(name.split(".")[0])
            else:
                waiting += _files_of(root, name)
    return files, outside - set(sys.stdlib_module_names)


def _kernels(root: Path, made: Plan) -> list[str]:
    """Every kernel that could be bound: the choices of both sides, and each site's reference."""
    table = sites.read(root)
    references = {f"{site.operation}/reference" for site in table.values()}
    chosen = {*made.control.values(), *made.candidate.values()}
    return sorted(f"kernels/{address}.py" for address in references | chosen)


def _packages_of(path: str) -> Iterator[str]:
    parts = Path(path).parent.parts
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _imports(file: Path, path: str) -> Iterator[str]:
    """Dotted names that the file imports anywhere; of `from a import b` both a and a.b, for b may be a module."""
    try:
        tree = ast.parse(file.read_bytes(), filename=path)
    except (SyntaxError, ValueError) as error:
        raise UnreadableCode(f"{path}: cannot be parsed: {error}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = Path(path).parent.parts[: len(Path(path).parent.parts) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _files_of(root: Path, name: str) -> Iterator[str]:
    path = Path(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if (root / candidate).is_file():
            yield candidate.as_posix()
