"""The checkout: where it begins, which folders it has, and whether the packages come from it."""

import importlib.machinery
import sys
from pathlib import Path

from ladder.errors import NotACheckout, ShadowedPackage, UnknownRung
from ladder.names import check, nearest, real_folder

PACKAGES = ("gates", "kernels", "ladder", "runtime")


def find_root(start: Path | None = None) -> Path:
    """The nearest folder, from `start` upwards, that holds `rungs/` and `kernels/`; `start` may be a file."""
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / "rungs").is_dir() and (folder / "kernels").is_dir():
            return folder
    raise NotACheckout(
        f"{here.name or here} lies in no checkout (no parent folder has both rungs/ and kernels/): "
        "cd into one, or give --root"
    )


def rungs_folder(root: Path) -> Path:
    """`rungs/` of this checkout."""
    return real_folder(root / "rungs")


def receipts_folder(root: Path, rung: str | None = None) -> Path:
    """`receipts/` or `receipts/<rung>/`, whether or not it exists yet; nothing is created."""
    folder = real_folder(root / "receipts")
    return folder if rung is None else real_folder(folder / check("rung", rung))


def card_path(root: Path, rung: str) -> Path:
    """The card of a rung, which exists, as a real file in `rungs/`."""
    path = rungs_folder(root) / f"{check('rung', rung)}.yaml"
    if path.is_symlink():
        raise UnknownRung(f"rungs/{path.name} is a symbolic link: a card is a file of the checkout itself")
    if path.exists() and not path.is_file():
        raise UnknownRung(f"rungs/{path.name} is no plain file: a card is a YAML file")
    if not path.is_file():
        raise UnknownRung(f"no card rungs/{path.name}{nearest(rung, rungs(root)) or '; `ladder ls` lists the rungs'}")
    return path


def rungs(root: Path) -> list[str]:
    """The stems of all cards, sorted."""
    return sorted(path.stem for path in rungs_folder(root).glob("*.yaml"))


def rung_of(root: Path, given: str) -> str:
    """The rung that a person named by its name, or by a path to its card in this checkout."""
    if "/" not in given and not given.endswith((".yaml", ".yml")):
        return check("rung", given)
    path = Path(given)
    if path.suffix == ".yaml" and path.absolute().parent.resolve() == rungs_folder(root).resolve():
        return check("rung", path.stem)
    if path.suffix == ".yaml" and path.parent == Path("rungs"):
        return check("rung", path.stem)  # as seen from the root, wherever the caller stands
    raise UnknownRung(f"{given} is not a card of this checkout: cards are rungs/<rung>.yaml")


def put_first(root: Path) -> None:
    """Make the checkout the first place to import from, and refuse a package of it that comes from elsewhere.

    A checkout of cards alone, without the packages, is served by the ones installed.
    """
    if sys.path[:1] != [str(root)]:
        sys.path.insert(0, str(root))
    for package in (name for name in PACKAGES if (root / name / "__init__.py").is_file()):
        origin = _origin(package)
        if origin is not None and not origin.resolve().is_relative_to(root.resolve()):
            raise ShadowedPackage(
                f"SHADOWED: `{package}` would be imported from {origin.parent.name}/{origin.name}, outside this "
                f"checkout: another distribution has that name; uninstall it, or run from this checkout's environment"
            )


def _origin(package: str) -> Path | None:
    """The folder that `import package` gives, without importing it; None when there is none."""
    loaded = sys.modules.get(package)
    places = list(getattr(loaded, "__path__", []) or [])
    if not places:
        spec = importlib.machinery.PathFinder.find_spec(package)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or []) or [spec.origin or ""]
    return Path(places[0]) if places[0] else None
