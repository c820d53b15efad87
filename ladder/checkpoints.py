"""Synthetic checkpoints, made once by a process of their own and shared by all arms."""

import shutil
from pathlib import Path

from gates.digest import digest, meaning_digest
from ladder import child, code
from ladder.lock import FOLDER

MAKER = "runtime/synthetic.py"


def ready(root: Path, model: str) -> Path:
    """The folder of a synthetic model, from the root; its name changes with the code that makes it."""
    files, _ = code.reach(root, [MAKER])
    maker = meaning_digest({path: digest((root / path).read_bytes()) for path in sorted(files)})
    folder = Path(FOLDER) / "checkpoints" / f"{model}-{maker[:8]}"
    if not (root / folder).is_dir():
        _make(root, model, folder)
    return folder


def _make(root: Path, model: str, folder: Path) -> None:
    """Made beside its place and then given its name, so that half a checkpoint is never found there."""
    half = root / folder.with_name(f".{folder.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    half.parent.mkdir(parents=True, exist_ok=True)
    child.make_checkpoint(root, model, half)
    half.rename(root / folder)
