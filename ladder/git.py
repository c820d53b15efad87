"""What git says of this checkout, asked without its configuration or its locks."""

import os
import subprocess
from pathlib import Path


def ask(root: Path, *words: str) -> bytes | None:
    """What git prints, or None when it refuses or is not there."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *words],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def line(root: Path, *words: str) -> str | None:
    """The same as text without its last line break."""
    told = ask(root, *words)
    return None if told is None else told.decode("utf-8", "replace").strip()
