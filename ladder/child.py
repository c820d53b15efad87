"""Commands that need torch, run in a process of their own so that this one never loads it."""

import os
import subprocess
import sys
from pathlib import Path

from ladder.errors import ChildFailed
from ladder.names import check


def make_checkpoint(root: Path, name: str, out: Path) -> Path:
    """Make the synthetic checkpoint of a named configuration in `out`, and return that folder."""
    folder = out.absolute()
    words = [sys.executable, "-m", "runtime.synthetic", check("model", name), str(folder)]
    done = subprocess.run(
        words, cwd=root, env=_environment(root), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise ChildFailed(f"no checkpoint {name}: the process ended with {done.returncode}: {last[:300]}")
    return folder


def _environment(root: Path) -> dict[str, str]:
    """Ours, with the checkout as the first place to import from."""
    others = [path for path in [os.environ.get("PYTHONPATH", "")] if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *others])}
